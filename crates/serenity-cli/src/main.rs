//! The program `serenity`: everything is in the library beside it.

/// Searches allocate a lot of small things: this is faster than what most systems have.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    serenity_cli::run(std::env::args_os()).into()
}
