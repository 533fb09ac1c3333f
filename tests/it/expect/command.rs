//! `ackdrop assert` as a CI runs it: the real program, its exit code, its output and its report.

use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::support::{App, Call, with, within};

async fn assert(app: &App, args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ackdrop"))
        .arg("assert")
        .args(args)
        .env_clear()
        .env("ACKDROP_URL", format!("http://{}", app.http()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    within("the end of the command", child.wait_with_output())
        .await
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_code_output_and_report_agree() {
    with(
        |b| b,
        async |app: &App| {
            for key in ["order-17", "order-<18>"] {
                app.call(Call::charge().key(key)).await;
            }
            let folder = tempfile::tempdir().unwrap();
            let junit = folder.path().join("report.xml");
            let junit_arg = junit.to_str().unwrap();

            let yes = assert(app, &["stripe.charge == 2", "--settle", "0s", "--watch", "100ms"], "").await;
            assert_eq!(yes.status.code(), Some(0), "{yes:?}");
            assert!(
                text(&yes.stdout).starts_with("holds  stripe.charge == 2  counted 2\n"),
                "{yes:?}"
            );

            let args = ["-", "--timeout", "100ms", "--junit", junit_arg];
            let no = assert(app, &args, "stripe.charge == 1\nsmtp.message <= 1\n").await;
            assert_eq!(no.status.code(), Some(1), "{no:?}");
            let said = text(&no.stdout);
            assert!(
                said.contains("FAILS  stripe.charge == 1  counted 2\nholds  smtp.message <= 1   counted 0\n"),
                "{said}"
            );
            assert!(
                said.contains("\n  #2 stripe charges.create key=order-<18> accepted answered"),
                "{said}"
            );
            let report = std::fs::read_to_string(&junit).unwrap();
            assert!(report.contains(r#"tests="2" failures="1" errors="0""#), "{report}");
            assert!(report.contains("key=order-&lt;18&gt;"), "{report}");

            let json = assert(app, &["stripe.charge == 1", "--timeout", "0s", "--json"], "").await;
            let value: Value = serde_json::from_slice(&json.stdout).unwrap();
            assert_eq!((json.status.code(), &value["holds"]), (Some(1), &Value::Bool(false)));

            let args = ["stripe.chrage == 1", "--junit", junit_arg];
            let wrong = assert(app, &args, "").await;
            assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
            let said = text(&wrong.stderr);
            assert!(
                said.contains("did you mean `stripe.charge`?\n  stripe.chrage == 1\n         ^^^^^^"),
                "{said}"
            );
            let report = std::fs::read_to_string(&junit).unwrap();
            assert!(
                report.contains(r#"errors="1""#),
                "no green report of an earlier run stays: {report}"
            );

            for args in [
                &["stripe.charge == 1", "--url", "http://127.0.0.1:1"][..],
                &[],
                &["x", "--watch", "soon"],
            ] {
                assert_eq!(assert(app, args, "").await.status.code(), Some(2), "{args:?}");
            }
        },
    )
    .await;
}
