use std::fs;

use super::*;
use crate::isolation::assemble::assemble;
use crate::isolation::assemble::tests::good;

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("sandgate-output-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_measured() {
    let folder = folder("refused");
    let path = folder.join("missing").join("report.json");
    let error = Files::open(Some(&path), None).unwrap_err().to_string();
    assert_eq!(error, format!("failed to write {}", path.display()));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_keeps_what_it_held_until_there_is_a_report_and_then_holds_that_alone() {
    let folder = folder("kept");
    let path = folder.join("report.json");
    let earlier = "x".repeat(1 << 20);
    fs::write(&path, &earlier).unwrap();
    let files = Files::open(Some(&path), None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), earlier);
    let report = assemble(&good());
    files.write(&report).unwrap();
    let written = fs::read_to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&written).unwrap(), report);
    fs::remove_dir_all(folder).unwrap();
}
