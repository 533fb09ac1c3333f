//! How connections begin: logins, TLS on either side, scopes, and requests to cancel.

use std::time::Duration;

use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use super::server::{PLAIN, Table, connect, psql, relay, server, startup, try_connect};
use crate::support::{App, Conn, with, within};

/// Makes the users whose logins ask for a password.
async fn users() {
    static MADE: tokio::sync::OnceCell<()> = tokio::sync::OnceCell::const_new();
    let make = async || {
        let direct = connect(server().addr, "").await;
        let sql = "CREATE USER scram SUPERUSER PASSWORD 'secret'; CREATE USER clear SUPERUSER PASSWORD 'secret';
            SET password_encryption = 'md5'; CREATE USER md5 SUPERUSER PASSWORD 'secret'";
        direct.batch_execute(sql).await.unwrap();
    };
    MADE.get_or_init(make).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_own_login_passes_through() {
    users().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            for user in ["scram", "md5", "clear"] {
                for tls in ["disable", "require"] {
                    let more = format!("user={user} password=secret sslmode={tls}");
                    let said = psql(app.pg(), &more, &["SELECT current_user"]).await;
                    assert_eq!((said.ok, &*said.out), (true, user), "{said:?}");
                }
                let wrong = psql(app.pg(), &format!("user={user} password=wrong"), &["SELECT 1"]).await;
                assert!(
                    !wrong.ok && wrong.err.contains("password authentication failed"),
                    "{wrong:?}"
                );
            }
            assert_eq!(app.counts("pg").await.received, 6);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_tls_the_relay_logs_in_itself_and_takes_any_client() {
    users().await;
    for user in ["scram", "md5", "clear"] {
        for mode in ["require", "verify-full", "disable"] {
            let url = format!("postgres://{user}:secret@SERVER/postgres?sslmode={mode}");
            with(
                |b| b.relay(relay(&url, "")).upstream_ca(&server().ca),
                async |app: &App| {
                    let more = "user=nobody password=whatever sslmode=require";
                    let said = psql(
                        app.pg(),
                        more,
                        &["SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"],
                    )
                    .await;
                    let inside = if mode == "disable" { "f" } else { "t" };
                    assert_eq!((said.ok, said.out), (true, format!("{user}|{inside}")), "{}", said.err);
                },
            )
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_tls_without_a_password_the_client_gets_no_tls_and_logs_in_itself() {
    users().await;
    with(
        |b| b.relay(relay("postgres://SERVER?sslmode=require", "")),
        async |app: &App| {
            let mut conn = Conn::plain(app.pg()).await;
            conn.send(&[0, 0, 0, 8, 4, 210, 22, 47]).await;
            assert_eq!(conn.read_exact(1).await, b"N");
            let said = psql(
                app.pg(),
                "user=scram password=secret sslmode=prefer",
                &["SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"],
            )
            .await;
            assert_eq!((said.ok, &*said.out), (true, "scram|t"), "{said:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_cannot_log_in_or_connect_says_why() {
    users().await;
    for (url, words) in [
        (
            "postgres://scram:wrong@SERVER?sslmode=require",
            "password authentication failed",
        ),
        (
            "postgres://scram:secret@SERVER/postgres?sslmode=verify-full",
            "relay pg: no connection to postgres://",
        ),
        (
            "postgres://127.0.0.1:1",
            "relay pg: no connection to postgres://127.0.0.1:1",
        ),
    ] {
        with(
            |b| b.relay(relay(url, "")),
            async |app: &App| {
                let said = psql(app.pg(), "", &["SELECT 1"]).await;
                assert!(
                    !said.ok && said.err.contains(words) && !said.err.contains("secret"),
                    "{said:?}"
                );
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scope_is_the_applications_name_or_the_relays() {
    for (option, fixed) in [("", "default"), (";scope=team", "team")] {
        with(
            |b| b.relay(relay(PLAIN, option)),
            async |app: &App| {
                let alice = connect(app.pg(), "application_name=~alice").await;
                alice.execute("SELECT 1", &[]).await.unwrap();
                alice.batch_execute("SET application_name = '~bob'").await.unwrap();
                alice.execute("SELECT 1", &[]).await.unwrap();
                connect(app.pg(), "application_name=psql")
                    .await
                    .execute("SELECT 1", &[])
                    .await
                    .unwrap();
                app.settled().await;
                assert_eq!(
                    (app.of("alice").read, app.of("bob").read, app.of(fixed).read),
                    (2, 1, 1)
                );
                let wrong = try_connect(app.pg(), "application_name='~no scope'").await;
                let wrong = wrong.err().unwrap();
                assert_eq!(wrong.code(), Some(&SqlState::INVALID_PARAMETER_VALUE), "{wrong}");
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_cancel_is_passed_on() {
    users().await;
    let table = Table::new().await;
    for url in [PLAIN, "postgres://scram:secret@SERVER/postgres?sslmode=require"] {
        with(
            |b| b.relay(relay(url, "")),
            async |app: &App| {
                let client = connect(app.pg(), "").await;
                let cancel = client.cancel_token();
                let sql = table.sql("INSERT INTO T SELECT 1 FROM pg_sleep(60)");
                let sleeping = tokio::spawn(async move { client.execute(&sql, &[]).await });
                app.until("the statement", |app| app.now("pg").in_flight == 1).await;
                let mut tries = 0;
                while !sleeping.is_finished() {
                    // A request that comes before its statement cancels nothing, and nobody says so: it is asked again after a while.
                    within("the request", cancel.cancel_query(NoTls)).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    tries += 1;
                    assert!(tries < 500);
                }
                let cancelled = sleeping.await.unwrap().unwrap_err();
                assert_eq!(cancelled.code(), Some(&SqlState::QUERY_CANCELED));
                assert_eq!(
                    (app.counts("pg").await.refused, table.rows().await, app.of_kind("row")),
                    (1, 0, 0)
                );
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_startup_message_ends_without_a_trace() {
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            for bytes in [
                &b"GET / HTTP/1.1\r\n\r\n"[..],
                &[0, 0, 0, 0, 0, 0, 0, 0],
                &[0, 0, 0, 9, 0, 2, 0, 0, 0],
            ] {
                let mut conn = Conn::plain(app.pg()).await;
                conn.send(bytes).await;
                let (said, _) = conn.rest().await;
                assert!(said.is_empty() || said.starts_with(b"E"), "{said:?}");
            }
            let mut conn = Conn::plain(app.pg()).await;
            conn.send(&startup("user\0postgres\0")[..20]).await;
            drop(conn);
            assert_eq!(app.counts("pg").await.received, 0);
        },
    )
    .await;
}
