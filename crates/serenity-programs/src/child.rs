//! Programs that we start. They end when the limits of whoever waits for them do, and none outlives a process that is
//! told to end.

use serenity_search::{Limits, StopReason};
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Those that run.
static RUNNING: Mutex<Vec<Child>> = Mutex::new(Vec::new());

const LOOK_EVERY: Duration = Duration::from_millis(5);

fn running() -> MutexGuard<'static, Vec<Child>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends those that run. While the guard lives, no other is started.
pub fn end_all() -> impl Drop {
    let mut running = running();
    for child in running.iter_mut() {
        // It may have ended already, and there is nobody to tell.
        let _ = child.kill().and_then(|()| child.wait());
    }
    running
}

/// Why there is no output of a program.
#[derive(Debug)]
pub enum NoOutput {
    /// It could not be started, or not be waited for.
    Failed(io::Error),
    /// The limits came first, and it was ended.
    Stopped(StopReason),
}

impl NoOutput {
    /// Why, in words.
    pub fn reason(&self) -> String {
        match self {
            Self::Failed(error) => error.to_string(),
            Self::Stopped(stopped) => stopped.to_string(),
        }
    }
}

/// Runs a program to its end, without standard input.
///
/// # Errors
/// If it cannot be started, or if the limits end it.
pub fn output(command: &mut Command, limits: &Limits) -> Result<Output, NoOutput> {
    let (id, streams) = start(command).map_err(NoOutput::Failed)?;
    let [stdout, stderr] = streams.map(|mut stream| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).map(|_| bytes)
        })
    });
    let status = wait(id, limits)?;
    let read = |reader: thread::JoinHandle<io::Result<Vec<u8>>>| {
        reader.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).map_err(NoOutput::Failed)
    };
    Ok(Output { status, stdout: read(stdout)?, stderr: read(stderr)? })
}

/// The number of the process, and what it writes to.
fn start(command: &mut Command) -> io::Result<(u32, [Box<dyn Read + Send>; 2])> {
    // Nothing is started that is not known.
    let mut running = running();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|out| Box::new(out) as _),
        child.stderr.take().map(|err| Box::new(err) as _),
    ];
    let id = child.id();
    running.push(child);
    Ok((id, streams.map(|stream| stream.unwrap_or_else(|| Box::new(io::empty())))))
}

fn wait(id: u32, limits: &Limits) -> Result<ExitStatus, NoOutput> {
    loop {
        let mut running = running();
        let Some(at) = running.iter().position(|child| child.id() == id) else {
            return Err(NoOutput::Failed(io::ErrorKind::NotFound.into()));
        };
        let stopped = limits.interrupted_while_waiting();
        if stopped.is_some() {
            // It may have ended by itself.
            let _ = running[at].kill();
        } else if let Ok(None) = running[at].try_wait() {
            drop(running);
            thread::sleep(LOOK_EVERY);
            continue;
        }
        let status = running.swap_remove(at).wait().map_err(NoOutput::Failed)?;
        return stopped.map_or(Ok(status), |stopped| Err(NoOutput::Stopped(stopped)));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn both_streams_are_read_to_the_end_however_long_they_are() {
        let script = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3";
        let output = output(Command::new("sh").args(["-c", script]), &Limits::default()).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 200_000));
        assert_eq!(output.status.code(), Some(3));
    }

    /// The program would run for ever.
    #[test]
    fn a_limit_ends_a_program() {
        let limits = Limits::lasting(Duration::from_millis(50));
        let stopped = output(Command::new("tail").args(["-f", "/dev/null"]), &limits);
        assert!(matches!(stopped, Err(NoOutput::Stopped(StopReason::Time))), "{stopped:?}");
        let limits = Limits::default();
        limits.cancel.cancel();
        let stopped = output(Command::new("tail").args(["-f", "/dev/null"]), &limits);
        assert!(matches!(stopped, Err(NoOutput::Stopped(StopReason::Cancelled))), "{stopped:?}");
    }
}
