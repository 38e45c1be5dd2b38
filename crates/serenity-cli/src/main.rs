//! The program `serenity`: everything is in the library beside it.

fn main() -> std::process::ExitCode {
    serenity_cli::run(std::env::args_os()).into()
}
