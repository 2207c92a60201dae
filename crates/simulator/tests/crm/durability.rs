use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::Method;
use sendtrail_simulator::crm::{Crm, CrmConfig};
use serde_json::json;

use crate::support::{Bed, MODULE, client};

const FILE: &str = "SIMULATED_CRM_FILE";

fn stored(file: &Path) -> CrmConfig {
    CrmConfig {
        file: Some(file.to_owned()),
        ..CrmConfig::default()
    }
}

/// The process that is killed: does nothing in an ordinary run.
#[tokio::test]
async fn the_killed_process() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    let crm = Crm::start(stored(Path::new(&file))).await.unwrap();
    std::fs::write(format!("{file}.tmp"), crm.url()).unwrap();
    std::fs::rename(format!("{file}.tmp"), format!("{file}.url")).unwrap();
    std::future::pending::<()>().await;
}

fn start(file: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "durability::the_killed_process", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn url(file: &Path) -> String {
    let told = format!("{}.url", file.display());
    let waiting = async {
        loop {
            if let Ok(url) = std::fs::read_to_string(&told) {
                return url;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .unwrap()
}

#[tokio::test]
async fn what_was_answered_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crm.sqlite");
    let mut child = start(&file);
    let url = url(&file).await;
    let http = client();
    let form = "client_id=1000.LOCALCLIENT&client_secret=local-client-secret&grant_type=refresh_token\
                &refresh_token=1000.refresh.poller";
    let token = http
        .post(format!("{url}/oauth/v2/token"))
        .body(form)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let token: serde_json::Value = serde_json::from_str(&token).unwrap();
    let token = token["access_token"].as_str().unwrap().to_owned();
    for number in 0..20 {
        let body = json!({"data": [{"Request_Key": format!("msg_{number}")}]}).to_string();
        let request = http.post(format!("{url}/crm/v8/{MODULE}")).body(body);
        let answer = request
            .header("authorization", format!("Zoho-oauthtoken {token}"))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 201);
    }
    child.kill().unwrap();
    child.wait().unwrap();

    let mut bed = Bed::with(stored(&file)).await;
    assert_eq!(bed.crm.records(MODULE).unwrap().len(), 20);
    assert_eq!(
        bed.create(json!({"Request_Key": "MSG_7"})).await.code(),
        "DUPLICATE_DATA"
    );
    assert_eq!(bed.crm.credits().used, 21);
    bed.token = token;
    assert_eq!(bed.read("1").await.status, 204, "the old token still lives");
    let (newest, _) = bed.created(json!({})).await;
    assert!(
        bed.crm
            .records(MODULE)
            .unwrap()
            .iter()
            .all(|record| record.id <= newest)
    );
}

#[tokio::test]
async fn files_attachments_throttle_and_log_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crm.sqlite");
    let bed = Bed::with(stored(&file)).await;
    let upload = crate::files::upload(&bed, "a.pdf", b"%PDF-1").await;
    for _ in 0..9 {
        bed.fresh_token("poller").await;
    }
    let lines = bed.crm.log(0).unwrap().len();
    let token = bed.token.clone();
    bed.crm.shutdown().await;
    drop(bed.http);

    let crm = Crm::start(stored(&file)).await.unwrap();
    assert_eq!(crm.log(0).unwrap().len(), lines);
    let bed = Bed {
        crm,
        http: client(),
        token,
    };
    assert_eq!(
        bed.get(&format!("/crm/v8/files?id={upload}")).await.text,
        "%PDF-1"
    );
    assert_eq!(
        bed.fresh_token("poller").await.body["error"],
        "Access Denied"
    );
    assert_eq!(
        bed.sim(Method::GET, "credits", json!(null)).await.body["used"],
        2
    );
}
