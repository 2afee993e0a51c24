//! Opens the store that a URL names.

use std::sync::Arc;

use openapi_core::ports::{BlobStore, MemoryBlobs};

use crate::error::OpenError;
use crate::local::FolderBlobs;
use crate::url::BlobsUrl;

/// Opens the store that a URL names.
///
/// `environment` holds the variables from which stores in a cloud take their credentials and addresses, usually those
/// of the process. This function does not read the process's environment itself.
///
/// | Store | Variables |
/// |---|---|
/// | S3 | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL` for other stores that speak its protocol, `AWS_ALLOW_HTTP=true` for one without TLS, `AWS_WEB_IDENTITY_TOKEN_FILE` with `AWS_ROLE_ARN`, `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`; without any, the instance's role |
/// | Google Cloud | `GOOGLE_APPLICATION_CREDENTIALS`, `GOOGLE_SERVICE_ACCOUNT` or `SERVICE_ACCOUNT` with the path of a key, `GOOGLE_SERVICE_ACCOUNT_KEY` with the key itself; without any, the instance's account |
/// | Azure | `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`, `AZURE_STORAGE_SAS_KEY`, `AZURE_CLIENT_ID` with `AZURE_TENANT_ID` and `AZURE_CLIENT_SECRET` or `AZURE_FEDERATED_TOKEN_FILE`; without any, the instance's identity |
/// | all of these | `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` |
///
/// Every other `AWS_`, `GOOGLE_` and `AZURE_` variable that the `object_store` crate knows counts as well, except those
/// about its HTTP client. Profiles in `~/.aws` are not read.
///
/// Blocks for some milliseconds. A folder is created and tested; a store in a cloud is first reached by
/// [`probe`](BlobStore::probe).
///
/// # Errors
/// [`OpenError`] says what is wrong and what to do.
pub fn open(
    url: &BlobsUrl,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<Arc<dyn BlobStore>, OpenError> {
    match url {
        BlobsUrl::Folder(folder) => Ok(Arc::new(FolderBlobs::open(folder)?)),
        BlobsUrl::Memory => Ok(Arc::new(MemoryBlobs::new())),
        #[cfg(feature = "cloud")]
        cloud => {
            let environment: Vec<(String, String)> = environment.into_iter().collect();
            Ok(Arc::new(crate::objects::ObjectBlobs::open(cloud, &environment)?))
        }
        #[cfg(not(feature = "cloud"))]
        cloud => {
            drop(environment.into_iter());
            Err(OpenError::Settings {
                url: cloud.to_string(),
                reason: "this build has no stores in a cloud; build it with the feature `cloud` of storage-blobs, or name a folder with file:".to_owned(),
            })
        }
    }
}
