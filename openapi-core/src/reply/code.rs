//! The catalogue of errors: code, status and when (contract 6.1). One table.

macro_rules! error_codes {
    (
        open_api { $($name:ident = $status:literal $text:literal, $when:literal;)* }
        widget { $($of_widget:ident = $widget_status:literal $widget_text:literal, $widget_when:literal;)* }
        console { $($of_console:ident = $console_status:literal $console_text:literal, $console_when:literal;)* }
    ) => {
        /// A machine-readable error code with its HTTP status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $(#[doc = $when] $name,)*
            $(#[doc = $widget_when] $of_widget,)*
            $(#[doc = $console_when] $of_console,)*
        }

        impl ErrorCode {
            /// Every code of the Open API.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name),*];

            /// The codes that only the widget's protocol has, besides those of the Open API.
            pub const WIDGET: &'static [ErrorCode] = &[$(ErrorCode::$of_widget),*];

            /// The codes that only the console has, besides those of the Open API.
            pub const CONSOLE: &'static [ErrorCode] = &[$(ErrorCode::$of_console),*];

            /// The code on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$name => $text,)* $(ErrorCode::$of_widget => $widget_text,)* $(ErrorCode::$of_console => $console_text,)* }
            }

            /// The HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(ErrorCode::$name => $status,)* $(ErrorCode::$of_widget => $widget_status,)* $(ErrorCode::$of_console => $console_status,)* }
            }

            /// When the code is answered, in one sentence.
            #[must_use]
            pub const fn when(self) -> &'static str {
                match self { $(ErrorCode::$name => $when,)* $(ErrorCode::$of_widget => $widget_when,)* $(ErrorCode::$of_console => $console_when,)* }
            }
        }
    };
}

error_codes! {
    open_api {
        BadRequest = 400 "BAD_REQUEST", "Bad percent-encoding or multipart framing, conflicting lengths, or a repeated key header.";
        InvalidJson = 400 "INVALID_JSON", "The body is not JSON; `details` has `line` and `column`.";
        ValidationError = 400 "VALIDATION_ERROR", "A rule on body, query, path, header or form part is broken; `validationErrors` lists every fault.";
        MissingCredentials = 401 "MISSING_CREDENTIALS", "A key header is absent or blank.";
        InvalidCredentials = 401 "INVALID_CREDENTIALS", "Unknown key, wrong secret, or a disabled agent.";
        ApiKeyRevoked = 401 "API_KEY_REVOKED", "The secret is right, the key is revoked or disabled.";
        ApiKeyExpired = 401 "API_KEY_EXPIRED", "The secret is right, the key has expired; `details` has `expiredAt`.";
        InsufficientCredits = 402 "INSUFFICIENT_CREDITS", "The extraction costs more credits than there are; `details` has `required` and `available`.";
        IpNotAllowed = 403 "IP_NOT_ALLOWED", "The address is outside the key's allowlist.";
        InsufficientPermissions = 403 "INSUFFICIENT_PERMISSIONS", "The key lacks the scope or action; `details` has `required`.";
        AgentForbidden = 403 "AGENT_FORBIDDEN", "The agent in the path is not the key's agent, whether or not it exists.";
        StorageQuotaExceeded = 403 "STORAGE_QUOTA_EXCEEDED", "The contact has as many files, or the agent as many bytes, as it may have; `details` has `limit`, `actual` and `unit`.";
        EndpointLimitExceeded = 403 "ENDPOINT_LIMIT_EXCEEDED", "The agent has as many webhook endpoints, or an endpoint as many replays, as it may have; `details` has `limit`.";
        SignedUrlInvalid = 403 "SIGNED_URL_INVALID", "The link was altered, or the key it was issued to is revoked, disabled or expired.";
        SignedUrlExpired = 403 "SIGNED_URL_EXPIRED", "The link is over.";
        RouteNotFound = 404 "ROUTE_NOT_FOUND", "No such path.";
        ContactNotFound = 404 "CONTACT_NOT_FOUND", "No such contact in this agent; `details` has `resource` and `id`.";
        FileNotFound = 404 "FILE_NOT_FOUND", "No such file of this contact; `details` has `resource` and `id`.";
        TemplateNotFound = 404 "TEMPLATE_NOT_FOUND", "No such form template in this agent; `details` has `resource` and `id`.";
        SubmissionNotFound = 404 "SUBMISSION_NOT_FOUND", "No such submission in this agent, or none that could be the latest; `details` has `resource` and `id`.";
        EndpointNotFound = 404 "ENDPOINT_NOT_FOUND", "No such webhook endpoint in this agent; `details` has `resource` and `id`.";
        JobNotFound = 404 "JOB_NOT_FOUND", "No such job in this agent, or one that was removed; `details` has `resource` and `id`.";
        BatchNotFound = 404 "BATCH_NOT_FOUND", "No job of this agent has the batch; `details` has `resource` and `id`.";
        MethodNotAllowed = 405 "METHOD_NOT_ALLOWED", "The path exists, the method does not; see the header `Allow`.";
        RequestTimeout = 408 "REQUEST_TIMEOUT", "The body was not received in time.";
        DuplicateExternalReferenceId = 409 "DUPLICATE_EXTERNAL_REFERENCE_ID", "Another contact has the external id; `details` has `existingContactId` and `archived`.";
        DuplicateValue = 409 "DUPLICATE_VALUE", "Another contact has the value of a field marked unique; `details` has `field`, `existingContactId` and `archived`.";
        ContactArchived = 409 "CONTACT_ARCHIVED", "The contact is archived; `details` has `resource`, `id` and `archivedAt`.";
        SubmissionSuperseded = 409 "SUBMISSION_SUPERSEDED", "A later submission has taken the place of this one, which can only be archived; `details` has `supersededBy`.";
        SubmissionLocked = 409 "SUBMISSION_LOCKED", "The field cannot change in the state of the submission; `details` has `status`.";
        InvalidStatusTransition = 409 "INVALID_STATUS_TRANSITION", "The status cannot change in this way; `details` has `from`, `to` and `allowed`.";
        TemplateInactive = 409 "TEMPLATE_INACTIVE", "The form template is a draft or archived; `details` has `resource`, `id`, `status` and, in a batch, `index`.";
        JobFinished = 409 "JOB_FINISHED", "The job has already ended; `details` has `resource`, `id` and `status`.";
        ConcurrentUpdate = 409 "CONCURRENT_UPDATE", "The change lost a race against others after internal retries; see the header `Retry-After`.";
        IdempotencyKeyInUse = 409 "IDEMPOTENCY_KEY_IN_USE", "A request with this idempotency key is still running; see the header `Retry-After`.";
        EventsLost = 410 "EVENTS_LOST", "Events after the cursor are no longer there; `details` has `oldest`, `head` and `reason`.";
        PreconditionFailed = 412 "PRECONDITION_FAILED", "No tag of `If-Match` is the current one; see the header `ETag`.";
        PayloadTooLarge = 413 "PAYLOAD_TOO_LARGE", "The body is too large; `details` has `limit`, `actual` and `unit`.";
        FileTooLarge = 413 "FILE_TOO_LARGE", "The file is too large; `details` has `limit`, `actual` and `unit`.";
        DocumentTooLarge = 413 "DOCUMENT_TOO_LARGE", "The document is too large; `details` has `limit`, `actual` and `unit`.";
        UriTooLong = 414 "URI_TOO_LONG", "Path and query are too long.";
        UnsupportedMediaType = 415 "UNSUPPORTED_MEDIA_TYPE", "The media type or encoding of the body is not accepted; see the header `Accept`.";
        UnsupportedFileType = 415 "UNSUPPORTED_FILE_TYPE", "The content of the file is of a type that is not accepted; `details` has `detected` and `allowed`.";
        RangeNotSatisfiable = 416 "RANGE_NOT_SATISFIABLE", "The range lies outside the file; see the header `Content-Range`.";
        IdempotencyKeyReused = 422 "IDEMPOTENCY_KEY_REUSED", "The idempotency key was used with another payload.";
        DocumentEncrypted = 422 "DOCUMENT_ENCRYPTED", "The document is protected by a password.";
        DocumentUnreadable = 422 "DOCUMENT_UNREADABLE", "The document is damaged, or takes more time or memory than a document may.";
        RateLimitExceeded = 429 "RATE_LIMIT_EXCEEDED", "The key has used up its requests; `details` has `window`, `limit` and `retryAfterSeconds`.";
        TooManyFailedAttempts = 429 "TOO_MANY_FAILED_ATTEMPTS", "The address has made too many requests of this kind; see the header `Retry-After`.";
        ConcurrencyLimitExceeded = 429 "CONCURRENCY_LIMIT_EXCEEDED", "The key has as many extractions running as it may; `details` has `limit`; see the header `Retry-After`.";
        QueueFull = 429 "QUEUE_FULL", "The agent has as many unfinished jobs as it may; `details` has `limit`; see the header `Retry-After`.";
        StreamLimitExceeded = 429 "STREAM_LIMIT_EXCEEDED", "The key, or the server, has as many event streams open as it may; `details` has `limit`; see the header `Retry-After`.";
        HeadersTooLarge = 431 "HEADERS_TOO_LARGE", "The header block is too large.";
        InternalError = 500 "INTERNAL_ERROR", "A fault of the service.";
        ExtractionFailed = 502 "EXTRACTION_FAILED", "The extraction engine gave no usable answer.";
        ServiceUnavailable = 503 "SERVICE_UNAVAILABLE", "The data store is down, or the service overloaded or ending; see the header `Retry-After`.";
        ExtractionUnavailable = 503 "EXTRACTION_UNAVAILABLE", "The extraction engine is down or overloaded; see the header `Retry-After`.";
        EventsUnavailable = 503 "EVENTS_UNAVAILABLE", "The service writes no events, or sends none; see the header `Retry-After`.";
        StorageUnavailable = 503 "STORAGE_UNAVAILABLE", "The store of file contents is down or full; see the header `Retry-After`.";
        ExtractionTimeout = 504 "EXTRACTION_TIMEOUT", "The extraction took longer than it may.";

    }
    widget {
        TokenInvalid = 401 "TOKEN_INVALID", "The visitor's token is altered, over, ended, or another agent's or origin's.";
        OriginNotAllowed = 403 "ORIGIN_NOT_ALLOWED", "The page's origin is not among those that the agent allows; `details` has `origin`.";
        VisitorBlocked = 403 "VISITOR_BLOCKED", "The contact of the verified visitor has the status `blocked`.";
        UploadsDisabled = 403 "UPLOADS_DISABLED", "The agent takes no files from visitors.";
        AgentNotAvailable = 404 "AGENT_NOT_AVAILABLE", "No such agent, or one that is disabled.";
        TurnNotFound = 404 "TURN_NOT_FOUND", "No such turn in the token's conversation.";
        MessageNotFound = 404 "MESSAGE_NOT_FOUND", "No such message in the token's conversation.";
        TurnInProgress = 409 "TURN_IN_PROGRESS", "Another turn of the visitor is still being answered; `details` has `turn`.";
        ChallengeRequired = 429 "CHALLENGE_REQUIRED", "A limit is nearly reached: solve `details.challenge` and send the call again.";
    }
    console {
        Unauthenticated = 401 "UNAUTHENTICATED", "Nobody is signed in, or what was sent proves nobody.";
        SessionEnded = 401 "SESSION_ENDED", "The session has ended.";
        InsufficientRole = 403 "INSUFFICIENT_ROLE", "The operator's roles lack the capability, or the service token may not call the operation; `details` has `capability` or `operation`.";
        StepUpRequired = 403 "STEP_UP_REQUIRED", "The operation needs a proof of identity of the last 10 minutes; `details` has `methods`.";
        SetUpRequired = 403 "SET_UP_REQUIRED", "The session can only set up a way to sign in: a passkey, or a password with one-time codes.";
        CrossSiteRequest = 403 "CROSS_SITE_REQUEST", "The request comes from another origin, or lacks the header `X-Console`.";
        NotFound = 404 "NOT_FOUND", "No such record, or an agent without a grant; `details` has `resource`.";
        LinkInvalid = 404 "LINK_INVALID", "The link is unknown, used, revoked or expired.";
        Conflict = 409 "CONFLICT", "The action contradicts what is stored.";
        LastOwner = 409 "LAST_OWNER", "The last owner can be neither removed, disabled nor demoted.";
        ConversationMoved = 409 "CONVERSATION_MOVED", "A colleague has replied since; `details` has `lastReply`.";
        SecretNotRepeatable = 409 "SECRET_NOT_REPEATABLE", "The request was done, and its answer held a secret that is not stored; `details` has `record`.";
        MisdirectedRequest = 421 "MISDIRECTED_REQUEST", "The host is not the console's.";
        NotPossible = 422 "NOT_POSSIBLE", "The action is not possible with these values.";
        PreconditionRequired = 428 "PRECONDITION_REQUIRED", "A change needs `If-Match` with the version that it was made on.";
    }
}
