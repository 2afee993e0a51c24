// The operations that ask people for a proof of identity and that a service token can be made for.
import { t } from '../../kit';

/** Each with its words. A test compares the names with the console API. */
export const DANGEROUS: Record<string, () => string> = {
  'contacts.erase': () => t('Erase contacts'),
  'keys.create': () => t('Create API keys'),
  'keys.edit': () => t('Edit API keys'),
  'keys.rotate': () => t('Rotate API keys'),
  'keys.revoke': () => t('Revoke API keys'),
  'webhooks.create': () => t('Create webhooks'),
  'webhooks.edit': () => t('Edit webhooks'),
  'webhooks.remove': () => t('Delete webhooks'),
  'webhooks.secret': () => t('Show webhook secrets'),
  'webhooks.rotate': () => t('Rotate webhook secrets'),
  'identity.show': () => t('Show identity secrets'),
  'identity.rotate': () => t('Rotate identity secrets'),
  'credits.change': () => t('Change credits'),
  'agents.disable': () => t('Disable agents'),
};
export const dangerousName = (name: string): string => DANGEROUS[name]?.() ?? name;
