//! A real PostgreSQL, one for all tests of this process, and clients for it that nobody here wrote.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackdrop::relay::Spec;
use tokio_postgres::{Client, NoTls};

use crate::support::{App, Conn, within};

/// Is the running server. It ends with this process: its keeper reads a pipe that closes then.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    /// The server's own certificate, which is its authority as well.
    pub(crate) ca: PathBuf,
    _keeper: std::process::Child,
}

/// Logins that ask for a password, which is `secret`.
const HBA: &str = "\
host all scram all scram-sha-256
host all md5 all md5
host all clear all password
host all all all trust
local all all trust
";
const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
fsync = off
ssl = on
max_connections = 200
max_prepared_transactions = 10
unix_socket_directories = ''
";
/// Starts the server, says its port, and ends it when nobody holds the other end of stdin any more.
const KEEPER: &str = r#"
"$1/postgres" -D "$2" -p "$3" >"$2/log" 2>&1 &
server=$!
trap 'kill -QUIT $server 2>/dev/null' EXIT
for i in $(seq 200); do
    if "$1/pg_isready" -q -h 127.0.0.1 -p "$3"; then echo ready; break; fi
    kill -0 $server 2>/dev/null || { cat "$2/log"; exit 1; }
    sleep 0.05
done
read -r _
kill -QUIT $server
wait $server
rm -rf "$2"
"#;

/// Returns the server.
pub(crate) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(start)
}

fn start() -> Server {
    let bin = binaries();
    let dir = tempfile::Builder::new().prefix("ackdrop-pg").tempdir().unwrap().keep();
    let user = unprivileged(&dir);
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(bin.join(program));
        command.args(args).current_dir("/").env("LC_ALL", "C");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let done = command.output().unwrap();
        assert!(
            done.status.success(),
            "{program}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    let data = dir.join("data");
    let data_text = data.to_str().unwrap();
    run(
        "initdb",
        &["-D", data_text, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8"],
    );
    let keys = rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (data.join("server.crt"), data.join("server.key"));
    std::fs::write(&certificate, keys.cert.pem()).unwrap();
    std::fs::write(&key, keys.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::write(data.join("pg_hba.conf"), HBA).unwrap();
    std::fs::write(data.join("postgresql.auto.conf"), SETTINGS).unwrap();
    let ca = dir.join("ca.pem");
    std::fs::write(&ca, keys.cert.pem()).unwrap();
    for file in [&certificate, &key] {
        chown(file, user, user).unwrap();
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut keeper = Command::new("sh");
    keeper.args([
        "-c",
        KEEPER,
        "keeper",
        bin.to_str().unwrap(),
        data_text,
        &port.to_string(),
    ]);
    keeper.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(user) = user {
        keeper.uid(user).gid(user);
    }
    let mut keeper = keeper.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(keeper.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(said.trim(), "ready", "PostgreSQL starts");
    Server {
        addr: ([127, 0, 0, 1], port).into(),
        ca,
        _keeper: keeper,
    }
}

/// Finds PostgreSQL's own programs: on Debian the server's are not on the path.
fn binaries() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let debian = versions.filter_map(|v| Some(v.ok()?.path().join("bin")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = debian.collect();
    debian.sort();
    let all = debian.into_iter().rev().chain(std::env::split_paths(&path));
    let programs = ["initdb", "postgres", "pg_isready"];
    let found = all
        .into_iter()
        .find(|dir| programs.iter().all(|program| dir.join(program).exists()));
    found.expect("the relay's tests need a PostgreSQL server: apt-get install postgresql postgresql-client")
}

/// Gives the folder to somebody who is not root, as the server demands; none if we are nobody special ourselves.
fn unprivileged(dir: &Path) -> Option<u32> {
    const NOBODY: u32 = 65_534;
    let own = std::fs::metadata(dir).unwrap().uid();
    if own != 0 {
        return None;
    }
    chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
    Some(NOBODY)
}

/// Describes a relay to the server.
pub(crate) fn relay(url: &str, options: &str) -> Spec {
    let addr = server().addr;
    let url = url.replace("SERVER", &addr.to_string());
    Spec::parse(&format!("pg=127.0.0.1:0,{url}{options}")).unwrap()
}

/// The relay that most tests use.
pub(crate) const PLAIN: &str = "postgres://SERVER";

/// Is a table of one test's own.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) direct: Client,
}

impl Table {
    /// Makes a table `id int primary key, word text` by a connection that no relay sees.
    pub(crate) async fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let direct = connect(server().addr, "").await;
        direct
            .batch_execute(&format!("CREATE TABLE {name} (id int PRIMARY KEY, word text)"))
            .await
            .unwrap();
        Self { name, direct }
    }

    /// Counts its rows as the database has them.
    pub(crate) async fn rows(&self) -> i64 {
        let sql = format!("SELECT count(*) FROM {}", self.name);
        self.direct.query_one(&sql, &[]).await.unwrap().get(0)
    }

    /// Writes SQL for this table, which it calls T.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let mut out = String::new();
        let mut words = sql.split_inclusive(|c: char| !c.is_alphanumeric());
        for word in &mut words {
            match word.strip_prefix('T') {
                Some(rest) if !rest.starts_with(char::is_alphanumeric) => {
                    out.push_str(&self.name);
                    out.push_str(rest);
                }
                _ => out.push_str(word),
            }
        }
        out
    }
}

/// Connects tokio-postgres.
pub(crate) async fn connect(addr: SocketAddr, more: &str) -> Client {
    try_connect(addr, more).await.unwrap()
}

pub(crate) async fn try_connect(addr: SocketAddr, more: &str) -> Result<Client, tokio_postgres::Error> {
    let user = if more.contains("user=") { "" } else { "user=postgres" };
    let settings = format!("host={} port={} dbname=postgres {user} {more}", addr.ip(), addr.port());
    let (client, connection) = within("a connection", tokio_postgres::connect(&settings, NoTls)).await?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// Says what psql came to.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) ok: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs psql on SQL, as one simple query each `-c`; `more` goes into the connection string.
pub(crate) async fn psql(addr: SocketAddr, more: &str, commands: &[&str]) -> Said {
    let user = if more.contains("user=") { "" } else { "user=postgres" };
    let target = format!("host={} port={} dbname=postgres {user} {more}", addr.ip(), addr.port());
    let mut psql = tokio::process::Command::new("psql");
    psql.args(["-X", "-A", "-t", "-q", "-d", &target])
        .env("PGCONNECT_TIMEOUT", "10");
    for command in commands {
        psql.args(["-c", command]);
    }
    let done = within("psql", psql.kill_on_drop(true).output()).await.unwrap();
    Said {
        ok: done.status.success(),
        out: String::from_utf8_lossy(&done.stdout).trim().to_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

impl App {
    /// Returns where the relay of these tests listens.
    pub(crate) fn pg(&self) -> SocketAddr {
        self.suite.relays().get("pg").unwrap().addr
    }

    /// Returns how many of an effect the relay's ledger has.
    pub(crate) fn of_kind(&self, kind: &str) -> u64 {
        self.suite.stats().providers["pg"]
            .effects
            .get(kind)
            .copied()
            .unwrap_or(0)
    }

    /// Returns the rows of each attempt, in their order; none where an attempt has none.
    pub(crate) fn rows_by_attempt(&self) -> Vec<Option<u64>> {
        let entries = self.entries();
        let mut entries: Vec<_> = entries.iter().filter(|e| &*e.arrival.provider == "pg").collect();
        entries.sort_by_key(|e| e.id);
        let rows = entries
            .iter()
            .map(|e| e.effects.iter().find(|f| f.kind == "row").map(|f| f.count));
        rows.collect()
    }

    /// Opens a raw connection to the relay and sends a startup message.
    pub(crate) async fn raw_pg(&self) -> Conn {
        let mut conn = Conn::plain(self.pg()).await;
        conn.send(&startup("user\0postgres\0database\0postgres\0")).await;
        conn
    }
}

/// Makes a startup message of these parameters.
pub(crate) fn startup(parameters: &str) -> Vec<u8> {
    let mut bytes = u32::try_from(parameters.len() + 9).unwrap().to_be_bytes().to_vec();
    bytes.extend([0, 3, 0, 0]);
    bytes.extend(parameters.as_bytes());
    bytes.push(0);
    bytes
}

/// Makes a message.
pub(crate) fn message(tag: u8, body: &str) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(u32::try_from(body.len() + 4).unwrap().to_be_bytes());
    bytes.extend(body.as_bytes());
    bytes
}

impl Conn {
    /// Reads messages up to one of this type, and returns all of them.
    pub(crate) async fn up_to(&mut self, tag: u8) -> Vec<(u8, Vec<u8>)> {
        let mut messages = Vec::new();
        loop {
            let head = self.read_exact(5).await;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            messages.push((head[0], self.read_exact(length - 4).await));
            if head[0] == tag {
                return messages;
            }
        }
    }
}
