//! A static server on this machine, which remembers what it was asked for.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub(crate) struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves a folder until the process ends.
    pub(crate) fn of(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let (asked, folder) = (Arc::new(Mutex::new(Vec::new())), folder.to_owned());
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (folder, log) = (folder.clone(), Arc::clone(&log));
                // A browser opens connections that it may never use.
                std::thread::spawn(move || answer(stream, &folder, &log));
            }
        });
        Self { address, asked }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The paths that were asked for, each time that they were.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Answers one request: the least that a static server does. It knows no types of files but those that a browser insists on.
fn answer(mut stream: TcpStream, folder: &Path, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    while lines.next()?.ok().is_some_and(|line| !line.is_empty()) {}
    let path = first.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    log.lock().unwrap().push(path.clone());
    let file: PathBuf = folder.join(if path.is_empty() { "index.html" } else { &path });
    let (status, body) = match std::fs::read(&file) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let kind = match file.extension()?.to_str()? {
        "html" => "text/html",
        "css" => "text/css",
        "js" => "text/javascript",
        _ => "application/octet-stream",
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    stream.write_all(&body).ok()
}
