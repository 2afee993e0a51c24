//! Faults in agents, keys and contact schemas.

use super::*;

impl Faulty {
    pub(super) async fn insert_agent(
        &self,
        agent: &Agent,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<()> {
        let result = self.inner.insert_agent(agent, schema, effects).await;
        if result.is_ok() {
            self.agents.lock().expect("lock").push(agent.id.clone());
        }
        let deleted = matches!(self.inner.agent(&agent.id).await, Ok(Some(agent)) if agent.status == AgentStatus::Deleted);
        if self.is(PlantedFault::DeletedIdReused) && deleted { Ok(()) } else { result }
    }

    pub(super) async fn update_agent(&self, agent: &Agent, effects: &Effects) -> Result<()> {
        if self.is(PlantedFault::DeletedAgentAnswers) && agent.status == AgentStatus::Deleted {
            let disabled = Agent { status: AgentStatus::Disabled, ..agent.clone() };
            return self.inner.update_agent(&disabled, effects).await;
        }
        self.inner.update_agent(agent, effects).await
    }

    pub(super) async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64> {
        let at_most = if self.is(PlantedFault::PurgeUnbounded) { u32::MAX } else { at_most };
        let removed = self.inner.purge_agent(id, at_most).await?;
        if self.is(PlantedFault::PurgeForgetsContents) {
            let due = self.inner.blobs_due_for_deletion(Timestamp::from_millis(0), u32::MAX).await?;
            self.inner.remove_blob_records(&due).await?;
        }
        Ok(removed)
    }
}

impl Faulty {
    pub(super) async fn look_up_key(&self, api_key: &ApiKey) -> Result<Option<KeyLookup>> {
        let mut grant = self.inner.look_up_key(api_key).await?;
        if self.is(PlantedFault::GrantIgnoresAgentStatus)
            && let Some(grant) = &mut grant
        {
            grant.agent_status = AgentStatus::Active;
        }
        Ok(grant)
    }

    pub(super) async fn insert_key(&self, agent: &AgentId, key: &StoredKey, effects: &Effects) -> Result<()> {
        match self.inner.insert_key(agent, key, effects).await {
            Err(error)
                if self.is(PlantedFault::ApiKeyTakenTwice)
                    && error.kind == StorageErrorKind::AlreadyExists =>
            {
                Ok(())
            }
            result => result,
        }
    }

    pub(super) async fn update_key(
        &self,
        agent: &AgentId,
        expected: u64,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<()> {
        let mut expected = expected;
        let stored = self.inner.find_key(&KeySelector::Id(key.key.id)).await?;
        if self.is(PlantedFault::KeyVersionIgnored)
            && let Some(stored) = &stored
        {
            expected = stored.version;
        }
        let owner =
            stored.map(|stored| stored.key.agent_id).filter(|_| self.is(PlantedFault::KeyCrossesAgents));
        let agent = owner.as_ref().unwrap_or(agent);
        self.inner.update_key(agent, expected, key, effects).await?;
        if self.is(PlantedFault::KeyEditForgetsUse) {
            let never = Timestamp::from_millis(i64::MAX);
            self.inner.record_key_use(agent, key.key.id, never, None).await?;
        }
        Ok(())
    }

    pub(super) async fn record_key_use(
        &self,
        agent: &AgentId,
        key: KeyId,
        at: Timestamp,
        address: Option<IpAddr>,
    ) -> Result<()> {
        let mut at = at;
        if self.is(PlantedFault::LastUseGoesBack)
            && let Some(stored) = self.inner.find_key(&KeySelector::Id(key)).await?
        {
            // The address of an earlier use replaces that of a later one.
            at = at.max(stored.key.last_used_at.unwrap_or(at));
        }
        self.inner.record_key_use(agent, key, at, address).await
    }
}

impl Faulty {
    pub(super) async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>> {
        let mut history = self.inner.contact_schema_history(agent).await?;
        if self.is(PlantedFault::SchemaHistoryLost) {
            history.drain(..history.len().saturating_sub(1));
        }
        Ok(history)
    }

    pub(super) async fn replace_contact_schema(
        &self,
        agent: &AgentId,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<()> {
        let mut schema = schema.clone();
        let current = self.inner.contact_schema(agent).await?;
        if self.is(PlantedFault::SchemaVersionIgnored) {
            schema.version = current.as_ref().map_or(1, |current| current.version) + 1;
        }
        if self.is(PlantedFault::SchemaChangeKeepsKeys)
            && let Some(current) = &current
        {
            for (field, known) in schema.fields.iter_mut().zip(&current.fields) {
                field.sensitive = known.sensitive;
            }
            for field in &mut schema.custom_fields {
                field.sensitive = false;
            }
        }
        match self.inner.replace_contact_schema(agent, &schema, effects).await {
            Err(error)
                if self.is(PlantedFault::UniqueWithoutCheck)
                    && matches!(error.kind, StorageErrorKind::Duplicate(_)) =>
            {
                Ok(())
            }
            result => result,
        }
    }
}
