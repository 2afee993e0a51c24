// The labels of the standard fields of contacts. The server has them in English: one that nobody has changed is shown in the
// language of the page.
import { t } from '../lib/i18n';

const LABELS: Record<string, [label: string, translated: () => string]> = {
  id: ['Id', () => t('ID')],
  agentId: ['Agent id', () => t('Agent ID')],
  externalReferenceId: ['External reference id', () => t('External ID')],
  salutation: ['Salutation', () => t('Salutation')],
  firstName: ['First name', () => t('First name')],
  middleName: ['Middle name', () => t('Middle name')],
  lastName: ['Last name', () => t('Last name')],
  dob: ['Date of birth', () => t('Date of birth')],
  gender: ['Gender', () => t('Gender')],
  primaryEmail: ['Primary email', () => t('E-mail')],
  primaryPhone: ['Primary phone', () => t('Phone')],
  primaryPhoneCode: ['Phone code', () => t('Phone code')],
  fullAddress: ['Address', () => t('Postal address')],
  tags: ['Tags', () => t('Tags')],
  status: ['Status', () => t('Status')],
  source: ['Source', () => t('Source')],
  lastContactedAt: ['Last contacted', () => t('Last contacted')],
  customFields: ['Custom fields', () => t('Custom fields')],
  isArchived: ['Archived', () => t('Archived')],
  archivedAt: ['Archived at', () => t('Archived at')],
  createdAt: ['Created at', () => t('Created')],
  updatedAt: ['Updated at', () => t('Updated')],
};
/** What a field is called. Without a label of the server, a standard field has its own. */
export const fieldLabel = ({ name, label }: { name: string; label?: string | null }): string => {
  const known = Object.hasOwn(LABELS, name) ? LABELS[name]! : null;
  return known && (label ?? known[0]) == known[0] ? known[1]() : (label ?? name);
};
