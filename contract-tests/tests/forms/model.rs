//! A small model of submissions, written from contract 2.3.2, 3 and 4.4 alone.

/// The states of contract 3, each with its successors.
pub const TRANSITIONS: [(&str, &[&str]); 6] = [
    ("draft", &["submitted", "archived"]),
    ("submitted", &["under_review", "approved", "rejected", "archived"]),
    ("under_review", &["submitted", "approved", "rejected", "archived"]),
    ("approved", &["under_review", "archived"]),
    ("rejected", &["submitted", "under_review", "archived"]),
    ("archived", &[]),
];

/// The `formData` of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// The required answer.
    Good(&'static str),
    /// The required answer is missing or removed.
    Incomplete,
    /// An answer of another type.
    Bad,
}

/// A form to submit.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Which template.
    pub template: usize,
    pub data: Data,
    pub draft: bool,
}

/// The changes of an update.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    pub data: Option<Data>,
    pub notes: Option<Option<&'static str>>,
    pub review: Option<Option<&'static str>>,
    pub status: Option<&'static str>,
}

/// A submission as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    pub template: usize,
    pub status: &'static str,
    pub text: Option<&'static str>,
    pub notes: Option<&'static str>,
    pub review: Option<&'static str>,
    pub revision: u64,
    pub supersedes: Option<usize>,
    pub superseded_by: Option<usize>,
    pub is_submitted: bool,
    pub is_reviewed: bool,
    pub history: Vec<(Option<&'static str>, &'static str, Option<&'static str>)>,
}

/// A template: whether it supersedes, and whether it is active.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    pub supersedes: bool,
    pub is_active: bool,
}

/// The contact with its submissions.
#[derive(Clone, Debug)]
pub struct Model {
    pub templates: Vec<Template>,
    pub is_archived: bool,
    pub submissions: Vec<Submission>,
}

/// The outcome of a request: the status, and the code of an error.
pub type Answer = (u16, &'static str);

const INVALID: Answer = (400, "VALIDATION_ERROR");

impl Model {
    fn faults(form: &Form) -> bool {
        match form.data {
            Data::Good(_) => false,
            Data::Incomplete => !form.draft,
            Data::Bad => true,
        }
    }

    /// Step 14 of contract 6.3 for a submit.
    fn refuse(&self, form: &Form) -> Option<Answer> {
        (!self.templates[form.template].is_active).then_some((409, "TEMPLATE_INACTIVE"))
    }

    /// The current submission of a template.
    fn head(&self, template: usize) -> Option<usize> {
        let is_head = |submission: &Submission| {
            submission.template == template && submission.is_submitted && submission.superseded_by.is_none()
        };
        self.submissions.iter().position(is_head)
    }

    /// Supersedes the current submission.
    fn enter(&mut self, at: usize) {
        let template = self.submissions[at].template;
        let head = if self.templates[template].supersedes { self.head(template) } else { None };
        self.submissions[at].is_submitted = true;
        self.submissions[at].supersedes = head;
        self.submissions[at].revision = head.map_or(1, |head| self.submissions[head].revision + 1);
        if let Some(head) = head {
            self.submissions[head].superseded_by = Some(at);
        }
    }

    fn store(&mut self, form: &Form) {
        let status = if form.draft { "draft" } else { "submitted" };
        self.submissions.push(Submission {
            template: form.template,
            status,
            text: if let Data::Good(text) = form.data { Some(text) } else { None },
            notes: None,
            review: None,
            revision: 1,
            supersedes: None,
            superseded_by: None,
            is_submitted: false,
            is_reviewed: false,
            history: vec![(None, status, None)],
        });
        if !form.draft {
            self.enter(self.submissions.len() - 1);
        }
    }

    pub fn submit(&mut self, form: &Form) -> Answer {
        if Model::faults(form) {
            return INVALID;
        }
        if self.is_archived {
            return (409, "CONTACT_ARCHIVED");
        }
        if let Some(refused) = self.refuse(form) {
            return refused;
        }
        self.store(form);
        (201, "")
    }

    /// The response, and the status of each independent element.
    pub fn batch(&mut self, forms: &[Form], all_or_none: bool) -> (Answer, Vec<u16>) {
        let mut handed_in = Vec::new();
        let faulty: Vec<bool> = forms
            .iter()
            .map(|form| {
                let enters = !form.draft && self.templates[form.template].supersedes;
                let repeated = enters && handed_in.contains(&form.template);
                if enters {
                    handed_in.push(form.template);
                }
                repeated || Model::faults(form)
            })
            .collect();
        if all_or_none && faulty.contains(&true) {
            return (INVALID, Vec::new());
        }
        if self.is_archived {
            return ((409, "CONTACT_ARCHIVED"), Vec::new());
        }
        if all_or_none && let Some(refused) = forms.iter().find_map(|form| self.refuse(form)) {
            return (refused, Vec::new());
        }
        let mut statuses = Vec::new();
        for (form, faulty) in forms.iter().zip(faulty) {
            let refused = if faulty { Some(INVALID) } else { self.refuse(form) };
            if refused.is_none() {
                self.store(form);
            }
            statuses.push(refused.map_or(201, |(status, _)| status));
        }
        let status = if statuses.iter().all(|status| *status == 201) { 201 } else { 207 };
        ((status, ""), statuses)
    }

    pub fn update(&mut self, at: usize, change: &Change) -> Answer {
        let current = self.submissions[at].clone();
        let mut next = current.clone();
        let status = change.status.unwrap_or(current.status);
        match change.data {
            Some(Data::Bad) => return INVALID,
            Some(Data::Good(text)) => next.text = Some(text),
            Some(Data::Incomplete) => next.text = None,
            None => {}
        }
        let hands_in = current.status == "draft" && change.status == Some("submitted");
        if (hands_in || change.data.is_some() && status != "draft") && next.text.is_none() {
            return INVALID;
        }
        let reason = change.review.flatten();
        if (current.status, status) == ("approved", "under_review") && reason.is_none() {
            return INVALID;
        }
        if self.is_archived {
            return (409, "CONTACT_ARCHIVED");
        }
        next.notes = change.notes.unwrap_or(current.notes);
        next.review = change.review.unwrap_or(current.review);
        if next == current && status == current.status {
            return (200, "");
        }
        if current.superseded_by.is_some() && !(next == current && status == "archived") {
            return (409, "SUBMISSION_SUPERSEDED");
        }
        let is_editable = matches!(current.status, "draft" | "submitted" | "rejected");
        let touches = next.text != current.text || next.notes != current.notes;
        if touches && !is_editable || next.review != current.review && current.status == "archived" {
            return (409, "SUBMISSION_LOCKED");
        }
        if status != current.status {
            let allowed =
                TRANSITIONS.iter().find(|(from, _)| *from == current.status).map_or(&[][..], |found| found.1);
            if !allowed.contains(&status) {
                return (409, "INVALID_STATUS_TRANSITION");
            }
            next.status = status;
            next.history.push((Some(current.status), status, reason));
            next.is_reviewed = match status {
                "approved" | "rejected" => true,
                "archived" => current.is_reviewed,
                _ => false,
            };
        }
        self.submissions[at] = next;
        if hands_in {
            self.enter(at);
        }
        (200, "")
    }
}
