//! The files in `infra/config/drivers`, and the documents about them.

use super::load;

const FILES: [(&str, &str); 4] = [
    (
        "cloudsign.toml",
        include_str!("../../../../infra/config/drivers/cloudsign.toml"),
    ),
    (
        "lob-letter.toml",
        include_str!("../../../../infra/config/drivers/lob-letter.toml"),
    ),
    (
        "resend-mail.toml",
        include_str!("../../../../infra/config/drivers/resend-mail.toml"),
    ),
    (
        "telnyx-fax.toml",
        include_str!("../../../../infra/config/drivers/telnyx-fax.toml"),
    ),
];

const PAGES: &str = include_str!("../../../../infra/config/drivers/README.md");

#[test]
fn the_shipped_files_load_and_each_has_its_page() {
    let files = FILES.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let drivers = load(&files).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(drivers.len(), FILES.len());
    for driver in &drivers {
        let title = format!("## {}\n", driver.id());
        let page = PAGES.split_once(&title).map(|(_, rest)| rest);
        let page = page.unwrap_or_else(|| panic!("{title} is missing"));
        let page = page.split("\n## ").next().unwrap_or_default();
        for secret in driver.secret_refs() {
            assert!(page.contains(secret.name()), "{title} {}", secret.name());
        }
        assert!(page.contains("| read |") && page.contains("| not verified |"));
        let can_find = driver.id().as_str() != "resend-mail";
        assert_eq!(driver.capabilities().can_find, can_find, "{title}");
    }
}

#[test]
fn every_file_of_the_folder_is_checked_here() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../infra/config/drivers");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "README.md" {
            names.push(name);
        }
    }
    names.sort();
    assert_eq!(names, FILES.map(|(name, _)| name));
}
