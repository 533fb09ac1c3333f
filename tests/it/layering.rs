//! Holds the drawing: imports go one way, and no provider knows another.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules, each with its height: a module may use what is lower, and its own.
const HEIGHTS: [(&str, u8); 16] = [
    ("cli", 11),
    ("config", 10),
    ("suite", 9),
    ("server", 8),
    ("admin", 7),
    ("expect", 6),
    ("mocks", 6),
    ("relay", 6),
    ("net", 5),
    ("attempt", 4),
    ("deliver", 3),
    ("faults", 3),
    ("idempotency", 3),
    ("store", 2),
    ("ledger", 1),
    ("duration", 0),
];

fn height(module: &str) -> u8 {
    let found = HEIGHTS.iter().find(|(name, _)| *name == module);
    found.unwrap_or_else(|| panic!("`{module}` is not in the drawing")).1
}

/// Returns which module a file belongs to, and within `mocks` which provider.
fn place(path: &Path) -> (String, Option<String>) {
    let mut parts = path
        .components()
        .map(|c| c.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned());
    let (root, first) = (parts.next().unwrap(), parts.next().unwrap());
    if root == "mocks" {
        ("mocks".into(), Some(first))
    } else {
        (first, None)
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|p| p.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// Finds what stands behind `crate::` in the code, single or in braces; comments and tests' own code count as well.
fn uses(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let list = rest
            .strip_prefix('{')
            .map_or(rest, |list| &list[..list.find('}').unwrap_or(list.len())]);
        let many = rest.starts_with('{');
        for item in list.split(',').take(if many { usize::MAX } else { 1 }) {
            let path: String = item
                .trim()
                .chars()
                .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':'))
                .collect();
            found.push(path);
        }
    }
    found
}

#[test]
fn imports_go_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for file in files(&root.join("src")).into_iter().chain(files(&root.join("mocks"))) {
        let relative = file.strip_prefix(root).unwrap();
        let (module, provider) = place(relative);
        if matches!(module.as_str(), "lib" | "main") || provider.as_deref() == Some("mod") {
            continue;
        }
        for used in uses(&fs::read_to_string(&file).unwrap()) {
            let target = used.split("::").next().unwrap();
            // The crate's root re-exports the suite.
            let target = if target == "Suite" { "suite" } else { target };
            if target == "mocks" && provider.is_some() {
                let other = used.split("::").nth(1);
                assert_eq!(
                    other,
                    provider.as_deref(),
                    "{relative:?} knows another provider: {used}"
                );
            }
            if target != module {
                assert!(
                    height(target) < height(&module),
                    "{relative:?} uses crate::{used}, against the arrows"
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} imports were read");
}
