//! Files of contacts: clients upload, list, read and delete them.

use std::collections::BTreeSet;

use contract_tests::form::Form;
use serde_json::Value;

use crate::clients::{Ask, Client};
use crate::tenant::{Erased, KnownFile};

impl Client {
    /// Adds a file to a contact.
    pub async fn upload(&mut self) {
        let Some((external, contact)) = self.pick() else { return };
        let before = self.known(&external);
        let name = format!("{} {}.txt", self.tenant.mark, self.simulation().below(1_000_000));
        let content = format!("{} content of {name}", self.tenant.mark);
        let form = Form::of_file(&name, content.as_bytes());
        let path = format!("/files/chatbots/{}/{contact}", self.tenant.agent);
        let ask = Ask {
            idempotency_key: Some(&self.idempotency_key()),
            media_type: form.content_type(),
            body: form.bytes().into(),
            ..Ask::new("POST", &path)
        };
        match self.send(&ask).await {
            Some((201, answer)) => {
                assert_eq!(answer["data"]["fileName"], name.as_str(), "the response to another upload");
                let id = answer["data"]["id"].as_str().expect("an id").to_owned();
                let file = KnownFile { id, name, content, deleted: Erased::No };
                self.tenant.contacts.lock().get_mut(&external).expect("known").files.push(file);
            }
            Some((404, _)) => self.assert_may_be_erased(&external),
            Some((409, answer)) if answer["code"] == "CONTACT_ARCHIVED" => {
                assert_ne!(before.archived, Some(false), "{external} is not archived");
            }
            Some((status, answer)) => panic!("{status}: {answer}"),
            None => {}
        }
    }

    /// A contact with files, and its id.
    fn pick_with_files(&self) -> Option<(String, String)> {
        let contacts = self.tenant.contacts.lock();
        let with_files: Vec<&String> =
            self.own.iter().filter(|external| !contacts[*external].files.is_empty()).collect();
        let count = with_files.len() as u64;
        let external = (count > 0).then(|| with_files[self.simulation().below(count) as usize].clone())?;
        let id = contacts[&external].id.clone()?;
        Some((external, id))
    }

    fn set_deleted(&self, external: &str, id: &str, deleted: Erased) {
        let mut contacts = self.tenant.contacts.lock();
        let files = &mut contacts.get_mut(external).expect("known").files;
        files.iter_mut().find(|file| file.id == id).expect("a known file").deleted = deleted;
    }

    pub async fn delete_file(&mut self) {
        let Some((external, contact)) = self.pick_with_files() else { return };
        let before = self.known(&external);
        let Some(file) = before.files.iter().find(|file| file.deleted == Erased::No) else { return };
        self.set_deleted(&external, &file.id, Erased::Perhaps);
        let path = format!("/files/chatbots/{}/{contact}/files/{}", self.tenant.agent, file.id);
        match self.ask("DELETE", &path, None, None).await {
            Some((200, _)) => self.set_deleted(&external, &file.id, Erased::Yes),
            // An earlier attempt has deleted it.
            Some((404, answer)) if answer["code"] == "FILE_NOT_FOUND" => {}
            Some((404, _)) => self.assert_may_be_erased(&external),
            Some((409, answer)) if answer["code"] == "CONTACT_ARCHIVED" => {
                assert_ne!(before.archived, Some(false), "{external} is not archived");
            }
            Some((status, answer)) => panic!("{status}: {answer}"),
            None => {}
        }
    }

    /// Lists the files of a contact. What was acknowledged and not deleted is there, once; then reads one of them.
    pub async fn list_files(&mut self) {
        let Some((external, contact)) = self.pick_with_files() else { return };
        let known = self.known(&external);
        let path = format!("/files/chatbots/{}/{contact}?limit=100", self.tenant.agent);
        let Some((status, answer)) = self.ask("GET", &path, None, None).await else { return };
        if status == 404 {
            return self.assert_may_be_erased(&external);
        }
        assert_eq!(status, 200, "{answer}");
        assert_ne!(known.erased, Erased::Yes, "files of an erased contact are listed: {answer}");
        let found = answer["data"].as_array().expect("a page");
        assert_eq!(answer["pagination"]["totalItems"], found.len(), "{answer}");
        let of_all =
            |member: &str| -> Vec<&str> { found.iter().filter_map(|file| file[member].as_str()).collect() };
        let (ids, names) = (of_all("id"), of_all("fileName"));
        let distinct: BTreeSet<&&str> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "one upload is stored twice: {answer}");
        for file in &known.files {
            match file.deleted {
                Erased::No => {
                    assert!(ids.contains(&file.id.as_str()), "{} is not listed: {answer}", file.name);
                }
                Erased::Yes => {
                    assert!(!ids.contains(&file.id.as_str()), "the deleted {} is listed", file.name);
                }
                Erased::Perhaps => {}
            }
        }
        let at = self.simulation().below(known.files.len() as u64) as usize;
        self.read_file(&external, &contact, &known.files[at]).await;
    }

    /// Reads a file as a browser does: by a signed URL.
    async fn read_file(&self, external: &str, contact: &str, file: &KnownFile) {
        let path = format!("/files/chatbots/{}/{contact}/files/{}/signed-url", self.tenant.agent, file.id);
        let Some((status, answer)) = self.ask("GET", &path, None, None).await else { return };
        if status == 404 {
            let may_be_gone = file.deleted != Erased::No || self.known(external).erased != Erased::No;
            return assert!(may_be_gone, "{} is lost: {answer}", file.name);
        }
        assert_eq!(status, 200, "{answer}");
        assert_ne!(file.deleted, Erased::Yes, "the deleted {} is found", file.name);
        let url = answer["data"]["url"].as_str().expect("a URL");
        let path = &url[url.find("/download/").expect("a download")..];
        match self.ask("GET", path, None, None).await {
            Some((200, Value::String(content))) => assert_eq!(content, file.content, "of {}", file.name),
            Some((404, _)) => self.assert_may_be_erased(external),
            Some((status, answer)) => panic!("{status}: {answer}"),
            None => {}
        }
    }
}
