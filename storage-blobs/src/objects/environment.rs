//! Object stores from the variables of an environment.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

use super::connect::{Connector, retries};
use super::store::ObjectBlobs;
use crate::error::OpenError;
use crate::url::BlobsUrl;

impl ObjectBlobs {
    /// Opens the store in a cloud that a URL names.
    pub(crate) fn open(url: &BlobsUrl, environment: &[(String, String)]) -> Result<Self, OpenError> {
        from_environment(url, environment)
            .map_err(|reason| OpenError::Settings { url: url.to_string(), reason })
    }
}

/// The store in a cloud that a URL names, or the problem as a text.
fn from_environment(url: &BlobsUrl, environment: &[(String, String)]) -> Result<ObjectBlobs, String> {
    match url {
        BlobsUrl::S3(bucket) => {
            let s3 = s3(bucket.name(), environment)?.build().map_err(|error| error.to_string())?;
            Ok(blobs(s3, bucket.prefix()))
        }
        BlobsUrl::GoogleCloud(bucket) => {
            let google = google(bucket.name(), environment)?.build().map_err(|error| error.to_string())?;
            Ok(blobs(google, bucket.prefix()))
        }
        BlobsUrl::Azure(container) => {
            let azure = azure(container.name(), environment)?;
            if azure.get_config_value(&AzureConfigKey::AccountName).is_none() {
                return Err("set AZURE_STORAGE_ACCOUNT_NAME to the name of the storage account".to_owned());
            }
            Ok(blobs(azure.build().map_err(|error| error.to_string())?, container.prefix()))
        }
        BlobsUrl::Folder(_) | BlobsUrl::Memory => Err("it lies in no cloud".to_owned()),
    }
}

fn blobs(store: impl ObjectStore, prefix: &str) -> ObjectBlobs {
    ObjectBlobs::new(Arc::new(store), prefix)
}

/// The prefixes of the variables, each with the key of a builder.
fn settings<'e, K: std::str::FromStr>(
    environment: &'e [(String, String)],
    begins: &str,
) -> impl Iterator<Item = (K, &'e str)> {
    environment
        .iter()
        .filter(move |(name, value)| name.starts_with(begins) && !value.is_empty())
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.as_str())))
}

fn s3(bucket: &str, environment: &[(String, String)]) -> Result<AmazonS3Builder, String> {
    let mut builder = AmazonS3Builder::new()
        .with_retry(retries())
        .with_http_connector(Connector::new(environment)?)
        // One request for each object: not every S3-compatible store supports deleting many at once.
        .with_config(AmazonS3ConfigKey::DisableBulkDelete, "true");
    for (key, value) in settings(environment, "AWS_") {
        builder = builder.with_config(key, value);
    }
    let value = |key| builder.get_config_value(&key);
    let address = value(AmazonS3ConfigKey::S3Endpoint).or_else(|| value(AmazonS3ConfigKey::Endpoint));
    let allow_http = AmazonS3ConfigKey::Client(object_store::ClientConfigKey::AllowHttp);
    if address.is_some_and(|address| address.starts_with("http://"))
        && value(allow_http).as_deref() != Some("true")
    {
        return Err(
            "AWS_ENDPOINT_URL has no TLS; write https://, or set AWS_ALLOW_HTTP=true if nobody can listen"
                .to_owned(),
        );
    }
    match (value(AmazonS3ConfigKey::AccessKeyId), value(AmazonS3ConfigKey::SecretAccessKey)) {
        (Some(_), None) => return Err("set AWS_SECRET_ACCESS_KEY along with AWS_ACCESS_KEY_ID".to_owned()),
        (None, Some(_)) => return Err("set AWS_ACCESS_KEY_ID along with AWS_SECRET_ACCESS_KEY".to_owned()),
        _ => {}
    }
    Ok(builder.with_bucket_name(bucket))
}

fn google(bucket: &str, environment: &[(String, String)]) -> Result<GoogleCloudStorageBuilder, String> {
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_retry(retries())
        .with_http_connector(Connector::new(environment)?);
    if let Some((_, path)) =
        environment.iter().find(|(name, value)| name == "SERVICE_ACCOUNT" && !value.is_empty())
    {
        builder = builder.with_service_account_path(path);
    }
    for (key, value) in settings::<GoogleConfigKey>(environment, "GOOGLE_") {
        builder = builder.with_config(key, value);
    }
    Ok(builder.with_bucket_name(bucket))
}

fn azure(container: &str, environment: &[(String, String)]) -> Result<MicrosoftAzureBuilder, String> {
    let mut builder =
        MicrosoftAzureBuilder::new().with_retry(retries()).with_http_connector(Connector::new(environment)?);
    if let Some((_, address)) =
        environment.iter().find(|(name, value)| name == "IDENTITY_ENDPOINT" && !value.is_empty())
    {
        builder = builder.with_msi_endpoint(address);
    }
    for (key, value) in settings::<AzureConfigKey>(environment, "AZURE_") {
        builder = builder.with_config(key, value);
    }
    Ok(builder.with_container_name(container))
}
