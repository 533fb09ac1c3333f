//! A million charges with fresh keys: memory, the rate of the first and the last ten thousand, and how long `/_stats` takes.
//!
//! Run by hand: `cargo bench --bench million [-- COUNT]`. Clients and suite share one process and its memory.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ackdrop::Suite;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const CLIENTS: u64 = 16;
const WINDOW: u64 = 10_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .next()
        .unwrap_or(1_000_000);
    let suite = Suite::builder().start().await?;
    let addr = suite.addresses().http().ok_or("no HTTP listener")?;
    let mut out = std::io::stdout();

    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let first = charge(addr, &next, WINDOW).await?;
    charge(addr, &next, count - WINDOW).await?;
    let last = charge(addr, &next, count).await?;
    let whole = begun.elapsed();

    let stats = suite.stats();
    assert_eq!(stats.effects["charge"], count, "every charge counts once");
    assert_eq!(stats.total.answered, count, "every answer left");
    let rate = |time: Duration| WINDOW as f64 / time.as_secs_f64();
    writeln!(
        out,
        "charges            {count} in {:.1} s, {:.0} a second",
        whole.as_secs_f64(),
        count as f64 / whole.as_secs_f64()
    )?;
    writeln!(out, "first {WINDOW}        {:.0} a second", rate(first))?;
    writeln!(
        out,
        "last {WINDOW}         {:.0} a second, {:.2} of the first",
        rate(last),
        rate(last) / rate(first)
    )?;
    writeln!(
        out,
        "resident memory    {:.2} GiB, clients included",
        resident()? as f64 / f64::from(1 << 20)
    )?;
    writeln!(
        out,
        "GET /_stats        {:.2} ms (median of 100)",
        stats_time(addr).await?.as_secs_f64() * 1e3
    )?;
    Ok(())
}

/// Charges until so many have begun, over a few connections at once; returns how long it took.
async fn charge(addr: SocketAddr, next: &Arc<AtomicU64>, until: u64) -> std::io::Result<Duration> {
    let begun = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(client(addr, Arc::clone(next), until)))
        .collect();
    for client in clients {
        client.await??;
    }
    next.store(until, Ordering::Relaxed);
    Ok(begun.elapsed())
}

async fn client(addr: SocketAddr, next: Arc<AtomicU64>, until: u64) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    let mut answer = Vec::new();
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        if n >= until {
            return Ok(());
        }
        let form = format!("amount=1099&currency=usd&source=tok_visa&metadata[order]={n}");
        let request = format!(
            "POST /v1/charges HTTP/1.1\r\nhost: a\r\nauthorization: Bearer sk_test_1\r\nidempotency-key: order-{n}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            form.len()
        );
        stream.write_all(request.as_bytes()).await?;
        read_answer(&mut stream, &mut answer).await?;
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
}

async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>) -> std::io::Result<()> {
    answer.clear();
    loop {
        if stream.read_buf(answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some(head) = answer.windows(4).position(|w| w == b"\r\n\r\n") else {
            continue;
        };
        let text = String::from_utf8_lossy(&answer[..head]).to_lowercase();
        let length = text
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next()?.parse().ok());
        if answer.len() >= head + 4 + length.unwrap_or(0) {
            return Ok(());
        }
    }
}

async fn stats_time(addr: SocketAddr) -> std::io::Result<Duration> {
    let mut stream = TcpStream::connect(addr).await?;
    let mut times = Vec::new();
    let mut answer = Vec::new();
    for _ in 0..100 {
        let begun = Instant::now();
        stream
            .write_all(b"GET /_stats HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await?;
        read_answer(&mut stream, &mut answer).await?;
        times.push(begun.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// Returns the resident memory in KiB.
fn resident() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
