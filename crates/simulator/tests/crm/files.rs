use reqwest::Method;
use reqwest::multipart::{Form, Part};
use sendtrail_simulator::crm::CrmConfig;
use serde_json::json;

use crate::support::{Answer, Bed, MODULE};

fn form(name: &str, bytes: &[u8]) -> Form {
    Form::new().part(
        "file",
        Part::bytes(bytes.to_vec()).file_name(name.to_owned()),
    )
}

pub(crate) async fn upload(bed: &Bed, name: &str, bytes: &[u8]) -> String {
    let answer = Answer::of(
        bed.request(Method::POST, "/crm/v8/files")
            .multipart(form(name, bytes)),
    )
    .await
    .unwrap();
    assert_eq!(
        (answer.status, answer.code()),
        (200, "SUCCESS"),
        "{}",
        answer.text
    );
    assert_eq!(answer.details()["name"], name);
    answer.details()["id"].as_str().unwrap().to_owned()
}

async fn bytes(bed: &Bed, path: &str) -> (u16, Vec<u8>) {
    let response = bed.request(Method::GET, path).send().await.unwrap();
    (
        response.status().as_u16(),
        response.bytes().await.unwrap().to_vec(),
    )
}

#[tokio::test]
async fn an_uploaded_file_comes_back_byte_for_byte() {
    let bed = Bed::new().await;
    let every_byte: Vec<u8> = (0..=255).collect();
    let file = upload(&bed, "x.pdf", &every_byte).await;
    assert_eq!(
        bytes(&bed, &format!("/crm/v8/files?id={file}")).await,
        (200, every_byte.clone())
    );
    let (id, _) = bed
        .created(json!({"Document": [{"File_Id__s": file}]}))
        .await;
    let entry = bed.read(&id).await.body["data"][0]["Document"][0].clone();
    assert_eq!(
        (&entry["File_Name__s"], &entry["Size__s"]),
        (&json!("x.pdf"), &json!("256"))
    );
    let attachment = entry["id"].as_str().unwrap();
    let path = format!("/crm/v8/{MODULE}/{id}/actions/download_fields_attachment");
    assert_eq!(
        bytes(&bed, &format!("{path}?fields_attachment_id={attachment}")).await,
        (200, every_byte)
    );
    assert_eq!(bed.get(&path).await.code(), "REQUIRED_PARAM_MISSING");
    assert_eq!(
        bed.get(&format!("{path}?fields_attachment_id=1"))
            .await
            .status,
        204
    );
}

#[tokio::test]
async fn an_unknown_file_is_204_and_a_call_without_id_is_400() {
    let bed = Bed::new().await;
    assert_eq!(bed.get("/crm/v8/files?id=unknown").await.status, 204);
    assert_eq!(
        bed.get("/crm/v8/files").await.code(),
        "REQUIRED_PARAM_MISSING"
    );
}

#[tokio::test]
async fn a_file_over_the_limit_refuses_the_whole_upload() {
    let mut config = CrmConfig::default();
    config.limits.file_bytes = 1000;
    let bed = Bed::with(config).await;
    let two = form("a.pdf", &[0; 10]).part("file", Part::bytes(vec![0; 1001]).file_name("b.pdf"));
    let refused = Answer::of(bed.request(Method::POST, "/crm/v8/files").multipart(two))
        .await
        .unwrap();
    assert_eq!(
        (refused.status, refused.code()),
        (415, "FILE_SIZE_MORE_THAN_ALLOWED_SIZE")
    );
    upload(&bed, "c.pdf", &[0; 1000]).await;
}

#[tokio::test]
async fn twenty_megabytes_fit() {
    let bed = Bed::new().await;
    upload(&bed, "large.pdf", &vec![7; 20 * 1024 * 1024]).await;
}

#[tokio::test]
async fn an_upload_without_a_part_named_file_is_refused() {
    let bed = Bed::new().await;
    let other = Form::new().part("document", Part::bytes(vec![1]).file_name("a.pdf"));
    let refused = Answer::of(bed.request(Method::POST, "/crm/v8/files").multipart(other))
        .await
        .unwrap();
    assert_eq!(
        (refused.status, refused.code()),
        (400, "failure_in_attachment_handling")
    );
    let plain = Answer::of(bed.request(Method::POST, "/crm/v8/files").body("%PDF"))
        .await
        .unwrap();
    assert_eq!(plain.status, 400);
}

#[tokio::test]
async fn an_unbound_file_disappears_and_a_bound_one_stays() {
    let bed = Bed::switched(|switches| switches.unbound_file_seconds = Some(60)).await;
    let (loose, bound) = (
        upload(&bed, "a.pdf", b"a").await,
        upload(&bed, "b.pdf", b"b").await,
    );
    bed.created(json!({"Document": [{"File_Id__s": bound}]}))
        .await;
    bed.advance(61);
    assert_eq!(
        bed.get(&format!("/crm/v8/files?id={loose}")).await.status,
        204
    );
    assert_eq!(
        bed.get(&format!("/crm/v8/files?id={bound}")).await.status,
        200
    );
    assert_eq!(
        bed.create(json!({"Document": [{"File_Id__s": loose}]}))
            .await
            .code(),
        "INVALID_DATA"
    );
}

#[tokio::test]
async fn attachments_are_added_listed_and_read() {
    let bed = Bed::new().await;
    let (id, version) = bed.created(json!({})).await;
    let path = format!("/crm/v8/{MODULE}/{id}/Attachments");
    assert_eq!(bed.get(&format!("{path}?fields=id")).await.status, 204);
    bed.advance(5);
    let added = Answer::of(
        bed.request(Method::POST, &path)
            .multipart(form("a b.pdf", b"%PDF-1")),
    )
    .await
    .unwrap();
    assert_eq!((added.status, added.code()), (200, "SUCCESS"));
    let attachment = added.details()["id"].as_str().unwrap();
    assert_eq!(bed.get(&path).await.code(), "REQUIRED_PARAM_MISSING");
    let list = bed.get(&format!("{path}?fields=File_Name,Size")).await;
    assert_eq!(
        list.body["data"],
        json!([{"id": attachment, "File_Name": "a b.pdf", "Size": "6"}])
    );
    assert_eq!(
        bytes(&bed, &format!("{path}/{attachment}")).await,
        (200, b"%PDF-1".to_vec())
    );
    assert_eq!(bed.get(&format!("{path}/1")).await.status, 204);
    assert_eq!(bed.crm.record(MODULE, &id).unwrap().modified_time, version);
}

#[tokio::test]
async fn an_attachment_moves_the_version_only_by_switch() {
    let bed = Bed::switched(|switches| switches.attachment_bumps = true).await;
    let (id, version) = bed.created(json!({})).await;
    bed.advance(5);
    let path = format!("/crm/v8/{MODULE}/{id}/Attachments");
    Answer::of(
        bed.request(Method::POST, &path)
            .multipart(form("a.pdf", b"a")),
    )
    .await
    .unwrap();
    assert_ne!(bed.crm.record(MODULE, &id).unwrap().modified_time, version);
}
