//! Several files in one: a ZIP archive without compression.

/// The date of every entry: the first day that ZIP knows. Equal files make equal archives.
const DATE: u16 = (1 << 5) | 1;
/// The version that reads this: the first with folders.
const VERSION: u16 = 20;

/// An archive of files, each with its path. Paths and contents must be shorter than 4 GiB in all.
pub fn zip(files: &[(String, String)]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (path, text) in files {
        let about = about(path, text);
        let offset = archive.len() as u32;
        archive.extend(b"PK\x03\x04");
        archive.extend(&about);
        archive.extend(path.as_bytes());
        archive.extend(text.as_bytes());
        directory.extend(b"PK\x01\x02");
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&about);
        // No comment, first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(path.as_bytes());
    }
    let (count, start, length) = (files.len() as u16, archive.len() as u32, directory.len() as u32);
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count, count].map(u16::to_le_bytes).concat());
    archive.extend([start, length].iter().rev().flat_map(|number| number.to_le_bytes()));
    archive.extend([0; 2]);
    archive
}

/// What both headers of a file have in common: 26 bytes, from the version to the length of what follows the path.
fn about(path: &str, text: &str) -> Vec<u8> {
    let size = text.len() as u32;
    let mut about = Vec::with_capacity(26);
    // Paths are UTF-8; nothing is compressed; midnight.
    about.extend([VERSION, 1 << 11, 0, 0, DATE].map(u16::to_le_bytes).concat());
    about.extend([checksum(text.as_bytes()), size, size].map(u32::to_le_bytes).concat());
    about.extend([path.len() as u16, 0].map(u16::to_le_bytes).concat());
    about
}

/// CRC-32, as ZIP counts it.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!((checksum(b"123456789"), checksum(b"")), (0xcbf4_3926, 0));
    }

    #[test]
    fn an_archive_has_what_was_put_into_it() {
        let files = [("code/model.c", "int x;\n"), ("code/größe.h", "")];
        let archive = zip(&files.map(|(path, text)| (path.to_owned(), text.to_owned())));
        assert_eq!(archive.len(), 2 * (30 + 46) + 2 * (12 + 14) + 7 + 22);
        // Whoever has a Python has a second opinion.
        let path = std::env::temp_dir().join(format!("serenity-{}.zip", std::process::id()));
        std::fs::write(&path, &archive).unwrap();
        let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint([(n, z.read(n).decode()) for n in z.namelist()])";
        let python =
            Command::new("python3").args(["-c", script]).arg(&path).stderr(Stdio::inherit()).output();
        std::fs::remove_file(&path).unwrap();
        let Ok(python) = python else { return };
        let told = String::from_utf8(python.stdout).unwrap();
        assert_eq!(told.trim(), r"[('code/model.c', 'int x;\n'), ('code/größe.h', '')]");
    }
}
