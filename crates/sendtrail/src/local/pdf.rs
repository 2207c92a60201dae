//! A small, valid PDF to send.

use std::fmt::Write as _;

/// One US letter page with this line of text. Characters that a PDF string would read otherwise are left out.
pub(crate) fn sample_pdf(line: &str) -> Vec<u8> {
    let line: String = line
        .chars()
        .filter(|c| (' '..='~').contains(c) && !matches!(c, '(' | ')' | '\\'))
        .collect();
    let content = format!("BT /F1 24 Tf 72 700 Td ({line}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut text = String::from("%PDF-1.4\n");
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(text.len());
        let _ = write!(text, "{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    let table = text.len();
    let _ = write!(text, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for offset in offsets {
        let _ = writeln!(text, "{offset:010} 00000 n ");
    }
    let _ = write!(
        text,
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    );
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_points_at_the_objects() {
        let text = String::from_utf8(sample_pdf("Contract (7)")).unwrap();
        assert!(text.starts_with("%PDF-") && text.ends_with("%%EOF\n"));
        assert!(text.contains("(Contract 7) Tj"));
        for number in 1..=5 {
            let entry = text
                .split("65535 f \n")
                .nth(1)
                .unwrap()
                .lines()
                .nth(number - 1)
                .unwrap();
            let offset: usize = entry[..10].parse().unwrap();
            assert!(text[offset..].starts_with(&format!("{number} 0 obj")));
        }
    }
}
