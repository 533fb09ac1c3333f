//! The follower without sockets: conversations as the protocol has them, cut anywhere.

use proptest::prelude::*;

use super::follower::{Follower, FromClient, FromServer};
use super::frames::message;
use super::scanner::Scanner;
use super::statement::{Prepared, Statement, Verb};
use super::transaction::{Decided, Writes};

fn scan(sql: &str) -> Vec<Statement> {
    let mut scanner = Scanner::new(false);
    let mut statements = Vec::new();
    scanner.feed(sql.as_bytes(), |s| statements.push(s));
    statements.extend(scanner.finish());
    statements
}

fn texts(sql: &str) -> Vec<String> {
    scan(sql).iter().map(|s| s.text.to_string()).collect()
}

#[test]
fn a_text_is_split_as_the_server_splits_it() {
    for (sql, wanted) in [
        ("", &[][..]),
        (" ; ;; -- nothing\n /* at /* all */ */ ;", &[]),
        ("SELECT 1", &["SELECT 1"]),
        ("SELECT 1; SELECT 2 ;", &["SELECT 1", "SELECT 2"]),
        ("SELECT ';'; SELECT ''';'", &["SELECT ';'", "SELECT ''';'"]),
        (r"SELECT E'\';'; SELECT 2", &[r"SELECT E'\';'", "SELECT 2"]),
        (r"SELECT '\'; SELECT 2", &[r"SELECT '\'", "SELECT 2"]),
        (r#"SELECT ";" ; SELECT 2"#, &[r#"SELECT ";""#, "SELECT 2"]),
        (
            "SELECT $$;$$; SELECT $a$;$$;$a$; x",
            &["SELECT $$;$$", "SELECT $a$;$$;$a$", "x"],
        ),
        ("SELECT $1; SELECT a$b$c; x", &["SELECT $1", "SELECT a$b$c", "x"]),
        ("/* a */ -- b\n SELECT 1 -- c ;\n; x", &["SELECT 1 -- c ;", "x"]),
        (
            "CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b); x",
            &["CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b)", "x"],
        ),
        (
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; x",
            &[
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
                "x",
            ],
        ),
        ("SELECT 1-2/3; x", &["SELECT 1-2/3", "x"]),
    ] {
        assert_eq!(texts(sql), wanted, "{sql}");
    }
}

#[test]
fn a_statement_is_known_for_what_it_is() {
    for (sql, verb, operation, hidden) in [
        ("select 1", Verb::Select, "select", false),
        ("(SELECT 1) UNION SELECT 2", Verb::Select, "select", false),
        ("VALUES (1)", Verb::Select, "select", false),
        ("insert into t values (1)", Verb::Insert, "insert", false),
        ("UPDATE t SET a = 1", Verb::Update, "update", false),
        ("DELETE FROM t", Verb::Delete, "delete", false),
        (
            "MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE",
            Verb::Other,
            "other",
            false,
        ),
        ("WITH a AS (SELECT 1) SELECT * FROM a", Verb::Select, "select", false),
        (
            "WITH a AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM a",
            Verb::Select,
            "select",
            true,
        ),
        (
            "WITH a AS NOT MATERIALIZED (UPDATE t SET b = 1 RETURNING *) TABLE a",
            Verb::Select,
            "select",
            true,
        ),
        (
            "WITH a AS (/* x */ DELETE FROM t RETURNING *) INSERT INTO u SELECT * FROM a",
            Verb::Insert,
            "insert",
            true,
        ),
        ("WITH a AS (SELECT 1) UPDATE t SET b = 1", Verb::Update, "update", false),
        ("SELECT count(update), f(delete) FROM t", Verb::Select, "select", false),
        ("SELECT * INTO new FROM t", Verb::Select, "select", true),
        ("INSERT INTO t SELECT 1", Verb::Insert, "insert", false),
        ("EXPLAIN INSERT INTO t VALUES (1)", Verb::Other, "other", false),
        (
            "EXPLAIN (ANALYZE, BUFFERS) INSERT INTO t VALUES (1)",
            Verb::Other,
            "other",
            true,
        ),
        ("explain analyze select 1", Verb::Other, "other", false),
        ("BEGIN", Verb::Begin, "other", false),
        ("START TRANSACTION", Verb::Begin, "other", false),
        ("COMMIT AND CHAIN", Verb::Commit, "commit", false),
        ("END", Verb::Commit, "commit", false),
        ("COMMIT PREPARED 'x'", Verb::Other, "other", false),
        ("ROLLBACK", Verb::Rollback, "other", false),
        ("ABORT WORK", Verb::Rollback, "other", false),
        ("ROLLBACK TO SAVEPOINT a", Verb::RollbackTo, "other", false),
        ("ROLLBACK PREPARED 'x'", Verb::Other, "other", false),
        ("COPY t FROM STDIN", Verb::CopyFrom, "insert", false),
        ("COPY t (a, b) TO STDOUT", Verb::CopyTo, "select", false),
        (
            "COPY (INSERT INTO t VALUES (1) RETURNING *) TO STDOUT",
            Verb::CopyTo,
            "select",
            true,
        ),
        ("COPY (SELECT 1 FROM t) TO STDOUT", Verb::CopyTo, "select", false),
        ("CREATE TABLE t AS SELECT 1", Verb::Other, "other", false),
        (
            "PREPARE p (int) AS INSERT INTO t VALUES ($1)",
            Verb::Prepare(Prepared::Insert),
            "other",
            false,
        ),
        ("PREPARE TRANSACTION 'x'", Verb::Other, "other", false),
        ("EXECUTE p (1)", Verb::Execute, "other", false),
    ] {
        let [statement] = &scan(sql)[..] else { panic!("{sql}") };
        let seen = (statement.verb, statement.operation(), statement.hidden);
        assert_eq!(seen, (verb, operation, hidden), "{sql}");
    }
    let name = |sql: &str| scan(sql)[0].name.clone().unwrap().to_string();
    assert_eq!(name("SAVEPOINT Mine"), "mine");
    assert_eq!(name("RELEASE SAVEPOINT \"Mine\""), "Mine");
    assert_eq!(name("ROLLBACK TRANSACTION TO a"), "a");
    assert_eq!(name("PREPARE p AS SELECT 1"), "p");
    assert_eq!(name("EXECUTE P(1)"), "p");
}

fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0").as_bytes())
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

fn failure(code: &str) -> Vec<u8> {
    super::frames::error("ERROR", code, "no")
}

fn parse(name: &str, sql: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

fn bind(portal: &str, statement: &str) -> Vec<u8> {
    message(b'B', format!("{portal}\0{statement}\0\0\0\0\0\0\0").as_bytes())
}

fn execute(portal: &str) -> Vec<u8> {
    message(b'E', format!("{portal}\0\0\0\0\0").as_bytes())
}

/// Is one turn of a conversation.
#[derive(Clone, Debug)]
enum Turn {
    Client(Vec<u8>),
    Server(Vec<u8>),
}

/// Tells what a conversation came to, in words; bytes of the same kind are joined.
#[derive(Debug, Default, PartialEq)]
struct Told {
    events: Vec<String>,
    up: Vec<u8>,
    down: Vec<u8>,
}

/// Holds a conversation in pieces of these sizes, in turn.
fn hold(turns: &[Turn], pieces: &[usize]) -> Told {
    let mut follower = Follower::new(false);
    let mut told = Told::default();
    let mut sizes = pieces.iter().copied().cycle();
    let mut waiting = Vec::new();
    let login = Turn::Server([message(b'R', &[0; 4]), ready(b'I')].concat());
    for turn in std::iter::once(&login).chain(turns) {
        let (Turn::Client(bytes) | Turn::Server(bytes)) = turn;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(sizes.next().unwrap_or(usize::MAX).clamp(1, rest.len()));
            rest = more;
            match turn {
                Turn::Client(_) => waiting.extend_from_slice(piece),
                Turn::Server(_) => listen(&mut follower, piece, &mut told),
            }
            speak(&mut follower, &mut waiting, &mut told);
        }
    }
    told
}

fn speak(follower: &mut Follower, waiting: &mut Vec<u8>, told: &mut Told) {
    let bytes = std::mem::take(waiting);
    let mut input = &bytes[..];
    loop {
        match follower.client(&mut input) {
            Ok(None) => break,
            Ok(Some(FromClient::Forward(bytes) | FromClient::Leave(bytes))) => told.up.extend(bytes),
            Ok(Some(FromClient::Ask(ask))) => {
                let operations: Vec<_> = ask.statements.iter().map(Statement::operation).collect();
                told.events.push(format!("ask {operations:?} begins={}", ask.begins));
                told.up.extend(follower.let_through());
            }
            Err(blind) => {
                told.events.push(format!("blind {}", blind.why));
                return;
            }
        }
    }
    *waiting = input.to_vec();
}

fn listen(follower: &mut Follower, piece: &[u8], told: &mut Told) {
    let mut input = piece;
    loop {
        match follower.server(&mut input) {
            Ok(None) => return,
            Ok(Some(FromServer::Answer(bytes, _))) => told.down.extend(bytes),
            Ok(Some(FromServer::Release)) => told.events.push(format!("release {}", told.down.len())),
            Ok(Some(FromServer::Decided(decided))) => told.events.push(format!("{decided:?}")),
            Ok(Some(FromServer::Began(statement))) => told.events.push(format!("began {}", statement.operation())),
            Ok(Some(other)) => told.events.push(format!("{other:?}")),
            Err(blind) => {
                told.events.push(format!("blind {}", blind.why));
                return;
            }
        }
    }
}

/// Returns what was decided in a conversation, and how many attempts began.
fn decided(turns: &[Turn]) -> (Vec<String>, usize) {
    let told = hold(turns, &[usize::MAX]);
    let begun = |e: &&String| e.contains("begins=true") || e.starts_with("began");
    let begun = told.events.iter().filter(begun).count();
    let decided = told
        .events
        .into_iter()
        .filter(|e| !e.contains("release") && !e.starts_with("ask") && !e.starts_with("began"));
    (decided.collect(), begun)
}

fn committed(rows: Option<u64>, uncounted: u64) -> String {
    format!("{:?}", Decided::Committed(Writes { rows, uncounted }))
}

fn failed(code: &str, only_read: bool) -> String {
    let code = code.into();
    format!("{:?}", Decided::Failed { code, only_read })
}

/// Makes a conversation of a simple query and all that the server says to it.
fn simple(sql: &str, answers: &[Vec<u8>]) -> Vec<Turn> {
    vec![Turn::Client(query(sql)), Turn::Server(answers.concat())]
}

#[test]
fn writes_count_at_the_boundary_and_never_before() {
    let rolled_back = format!("{:?}", Decided::RolledBack);
    for (turns, wanted, begun) in [
        (
            simple("INSERT INTO t VALUES (1)", &[complete("INSERT 0 1"), ready(b'I')]),
            vec![committed(Some(1), 0)],
            1,
        ),
        (
            simple("INSERT INTO t VALUES (1)", &[complete("INSERT 0 0"), ready(b'I')]),
            vec![committed(Some(0), 0)],
            1,
        ),
        (
            simple("SELECT 1", &[complete("SELECT 1"), ready(b'I')]),
            vec![committed(None, 0)],
            1,
        ),
        (
            simple("SELECT 1", &[failure("42703"), ready(b'I')]),
            vec![failed("42703", true)],
            1,
        ),
        (
            simple(
                "INSERT INTO t VALUES (1)",
                &[complete("INSERT 0 1"), failure("23505"), ready(b'I')],
            ),
            vec![failed("23505", false)],
            1,
        ),
        (
            simple(
                "INSERT INTO t VALUES (1); ROLLBACK",
                &[complete("INSERT 0 1"), complete("ROLLBACK"), ready(b'I')],
            ),
            vec![rolled_back.clone()],
            1,
        ),
        (
            simple(
                "INSERT INTO t VALUES (1); UPDATE t SET a = 1",
                &[complete("INSERT 0 1"), complete("UPDATE 3"), ready(b'I')],
            ),
            vec![committed(Some(4), 0)],
            1,
        ),
        (
            simple(
                "BEGIN; INSERT INTO t VALUES (1); COMMIT; SELECT 1/0",
                &[
                    complete("BEGIN"),
                    complete("INSERT 0 1"),
                    complete("COMMIT"),
                    failure("22012"),
                    ready(b'I'),
                ],
            ),
            vec![committed(Some(1), 0), failed("22012", true)],
            2,
        ),
        (
            simple(
                "BEGIN; INSERT INTO t VALUES (1); COMMIT AND CHAIN; DELETE FROM t; ROLLBACK",
                &[
                    complete("BEGIN"),
                    complete("INSERT 0 1"),
                    complete("COMMIT"),
                    complete("DELETE 1"),
                    complete("ROLLBACK"),
                    ready(b'I'),
                ],
            ),
            vec![committed(Some(1), 0), rolled_back.clone()],
            2,
        ),
        (
            simple(
                "WITH a AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM a",
                &[complete("SELECT 1"), ready(b'I')],
            ),
            vec![committed(None, 1)],
            1,
        ),
        (
            simple("CREATE TABLE u AS SELECT 1", &[complete("SELECT 1"), ready(b'I')]),
            vec![committed(None, 1)],
            1,
        ),
        (
            simple("SET a = 1", &[complete("SET"), ready(b'I')]),
            vec![committed(None, 0)],
            1,
        ),
        (simple("BEGIN", &[complete("BEGIN"), ready(b'T')]), vec![], 0),
        (simple("", &[message(b'I', &[]), ready(b'I')]), vec![], 0),
    ] {
        assert_eq!(decided(&turns), (wanted, begun), "{turns:?}");
    }
}

#[test]
fn a_savepoint_takes_back_what_came_after_it_and_an_error_no_more() {
    let steps = [
        ("BEGIN", complete("BEGIN"), b'T'),
        ("INSERT INTO t VALUES (1)", complete("INSERT 0 1"), b'T'),
        ("SAVEPOINT a", complete("SAVEPOINT"), b'T'),
        ("INSERT INTO t VALUES (2)", complete("INSERT 0 1"), b'T'),
        ("INSERT INTO t VALUES (2)", failure("23505"), b'E'),
        ("ROLLBACK TO a", complete("ROLLBACK"), b'T'),
        ("INSERT INTO t VALUES (3)", complete("INSERT 0 1"), b'T'),
        ("COMMIT", complete("COMMIT"), b'I'),
    ];
    let turns: Vec<Turn> = steps
        .into_iter()
        .flat_map(|(sql, answer, status)| simple(sql, &[answer, ready(status)]))
        .collect();
    assert_eq!(decided(&turns), (vec![committed(Some(2), 0)], 1));
}

/// Is a conversation with all that the protocol has.
fn long() -> Vec<Turn> {
    let sync = message(b'S', &[]);
    let mut turns = vec![
        Turn::Client(
            [
                parse("s", "INSERT INTO t VALUES ($1)"),
                message(b'D', b"Ss\0"),
                sync.clone(),
            ]
            .concat(),
        ),
        Turn::Server(
            [
                message(b'1', &[]),
                message(b't', &[0, 0]),
                message(b'n', &[]),
                ready(b'I'),
            ]
            .concat(),
        ),
        Turn::Client(
            [
                bind("", "s"),
                execute(""),
                sync.clone(),
                bind("", "s"),
                execute(""),
                sync.clone(),
            ]
            .concat(),
        ),
        Turn::Server([message(b'2', &[]), complete("INSERT 0 1"), ready(b'I')].concat()),
        Turn::Server([message(b'2', &[]), failure("23505"), ready(b'I')].concat()),
        // A transaction in one pipeline, and a statement behind its end.
        Turn::Client([parse("", "BEGIN"), bind("", ""), execute("")].concat()),
        Turn::Client(
            [
                bind("", "s"),
                execute(""),
                parse("", "COMMIT"),
                bind("", ""),
                execute(""),
            ]
            .concat(),
        ),
        Turn::Client([bind("", "s"), execute(""), sync.clone()].concat()),
        Turn::Server(
            [
                message(b'1', &[]),
                message(b'2', &[]),
                complete("BEGIN"),
                message(b'2', &[]),
                complete("INSERT 0 1"),
            ]
            .concat(),
        ),
        Turn::Server([message(b'1', &[]), message(b'2', &[]), complete("COMMIT")].concat()),
        Turn::Server([message(b'2', &[]), complete("INSERT 0 1"), ready(b'I')].concat()),
        // COPY, as tokio-postgres sends it: a Sync that the server passes over.
        Turn::Client([parse("", "COPY t FROM STDIN"), bind("", ""), execute(""), sync.clone()].concat()),
        Turn::Server([message(b'1', &[]), message(b'2', &[]), message(b'G', &[0, 0, 0])].concat()),
        Turn::Client(
            [
                message(b'd', b"1\n"),
                message(b'd', b"2\n"),
                message(b'c', &[]),
                sync.clone(),
            ]
            .concat(),
        ),
        Turn::Server([complete("COPY 2"), ready(b'I')].concat()),
        Turn::Client(query("COPY t FROM STDIN")),
        Turn::Server(message(b'G', &[0, 0, 0])),
        Turn::Client([message(b'd', b"x\n"), message(b'f', b"no\0")].concat()),
        Turn::Server([failure("57014"), ready(b'I')].concat()),
        Turn::Client(query("COPY t TO STDOUT")),
        Turn::Server(
            [
                message(b'H', &[0, 0, 0]),
                message(b'd', b"1\n"),
                message(b'c', &[]),
                complete("COPY 1"),
                ready(b'I'),
            ]
            .concat(),
        ),
        // The server speaks of its own accord.
        Turn::Server(message(b'S', b"application_name\0~alice\0")),
        Turn::Server(message(b'A', &[0, 0, 0, 1, b'c', 0, 0])),
        // Flush, an error, and what the server passes over until Sync.
        Turn::Client(
            [
                parse("", "DELETE FROM t"),
                bind("", ""),
                execute(""),
                message(b'H', &[]),
            ]
            .concat(),
        ),
        Turn::Server([message(b'1', &[]), message(b'2', &[]), failure("57014")].concat()),
        Turn::Client([bind("", ""), execute(""), sync].concat()),
        Turn::Server(ready(b'I')),
        Turn::Client(message(b'F', &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0])),
        Turn::Server([message(b'V', &[0, 0, 0, 0]), ready(b'I')].concat()),
        Turn::Client(query(&format!("SELECT '{}'; UPDATE t SET a = 1", "x;".repeat(70_000)))),
        Turn::Server(
            [
                message(b'D', &vec![0; 100_000]),
                complete("SELECT 1"),
                complete("UPDATE 5"),
                ready(b'I'),
            ]
            .concat(),
        ),
    ];
    turns.push(Turn::Client(message(b'X', &[])));
    turns
}

#[test]
fn a_long_conversation_is_followed() {
    let (decided, begun) = decided(&long());
    let wanted = vec![
        committed(Some(1), 0),
        failed("23505", false),
        committed(Some(1), 0),
        committed(Some(1), 0),
        committed(Some(2), 0),
        failed("57014", false),
        committed(None, 0),
        "Application(\"~alice\")".to_owned(),
        failed("57014", false),
        committed(None, 0),
        committed(Some(5), 0),
    ];
    assert_eq!((decided, begun), (wanted, 10));
}

#[test]
fn every_byte_of_both_sides_passes_and_one_flush_is_added() {
    let told = hold(&long(), &[usize::MAX]);
    let (mut up, mut down) = (Vec::new(), [message(b'R', &[0; 4]), ready(b'I')].concat());
    for turn in long() {
        match turn {
            Turn::Client(bytes) => up.extend(bytes),
            Turn::Server(bytes) => down.extend(bytes),
        }
    }
    assert_eq!(told.down, down);
    let released = told.events.iter().rfind(|e| e.starts_with("release")).unwrap();
    assert_eq!(*released, format!("release {}", down.len()));
    assert_eq!(told.up.len(), up.len() + message(b'H', &[]).len());
}

#[test]
fn a_message_is_released_with_its_last_byte() {
    let greeting = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let mut follower = Follower::new(false);
    let mut told = Told::default();
    listen(&mut follower, &greeting, &mut told);
    assert_eq!(told.events, [format!("release {}", greeting.len())]);
    let notice = message(b'N', b"SNOTICE\0\0");
    let told = hold(&[Turn::Server(notice)], &[3]);
    assert_eq!(told.events.last(), Some(&format!("release {}", told.down.len())));
}

#[test]
fn a_login_that_is_bound_to_tls_is_hidden_where_there_is_none() {
    let offer = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    let mut told = Told::default();
    listen(&mut Follower::new(true), &offer, &mut told);
    assert_eq!(told.down, message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"));
    let mut told = Told::default();
    listen(&mut Follower::new(false), &offer, &mut told);
    assert_eq!(told.down, offer);
}

#[test]
fn what_cannot_be_followed_is_said() {
    for (turns, words) in [
        (vec![Turn::Client(message(b'Y', &[]))], "unexpected type 'Y'"),
        (vec![Turn::Client(vec![b'Q', 0, 0, 0, 3])], "3 bytes long"),
        (vec![Turn::Server(message(b'W', &[]))], "COPY in both directions"),
        (
            vec![Turn::Server(complete("INSERT 0 1"))],
            "came where the answer to nothing was due",
        ),
        (
            simple("SELECT 1", &[complete("SELECT 1"), complete("SELECT 1")]),
            "that nobody sent",
        ),
        (vec![Turn::Client(message(b'B', b"no end"))], "has no end"),
    ] {
        let told = hold(&turns, &[usize::MAX]);
        let last = told.events.last().unwrap();
        assert!(last.starts_with("blind") && last.contains(words), "{last}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn how_bytes_are_cut_changes_nothing(pieces in prop::collection::vec(1_usize..200, 1..20), large in 1_usize..50_000) {
        let pieces = [pieces, vec![large]].concat();
        let (whole, cut) = (hold(&long(), &[usize::MAX]), hold(&long(), &pieces));
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn garbage_never_panics(
        turns in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..300)), 0..20),
        at in 0_usize..40,
    ) {
        let mut conversation = long();
        for (client, bytes) in turns {
            let turn = if client { Turn::Client(bytes) } else { Turn::Server(bytes) };
            conversation.insert(at.min(conversation.len()), turn);
        }
        hold(&conversation, &[usize::MAX]);
    }

    #[test]
    fn right_messages_in_any_order_never_panic(
        turns in prop::collection::vec((any::<bool>(), prop::sample::select(b"QPBDCEFHSXdcfpTDCEGHIZNAW123nstVvRK".to_vec()), ".{0,40}"), 0..60),
    ) {
        let conversation: Vec<Turn> = turns
            .into_iter()
            .map(|(client, tag, text)| {
                let bytes = message(tag, format!("{text}\0{text}\0\0\0\0\0").as_bytes());
                if client { Turn::Client(bytes) } else { Turn::Server(bytes) }
            })
            .collect();
        hold(&conversation, &[usize::MAX]);
    }

    #[test]
    fn any_text_is_scanned_alike_in_pieces(sql in "[a-z'\"$;()/*\\- \n\\\\eE01]{0,80}", size in 1_usize..7) {
        let mut scanner = Scanner::new(false);
        let mut statements = Vec::new();
        for piece in sql.as_bytes().chunks(size) {
            scanner.feed(piece, |s| statements.push(s));
        }
        statements.extend(scanner.finish());
        prop_assert_eq!(statements, scan(&sql));
    }
}
