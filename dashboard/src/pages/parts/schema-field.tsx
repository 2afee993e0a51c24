// A field of the contact schema: what a person sets of it.
import { Button, Check, Dialog, Select, t, TextField, useForm, useKeys } from '../../kit';

/** A field as the API has it; members that are left out are as built in. */
export interface FieldOf {
  name: string;
  label?: string;
  type: string;
  required?: boolean;
  readOnly?: boolean;
  unique?: boolean;
  sensitive?: boolean;
  custom?: boolean;
  minLength?: number | null;
  maxLength?: number | null;
  pattern?: string | null;
  minimum?: number | string | null;
  maximum?: number | string | null;
  options?: readonly { value: string; label: string }[] | null;
  default?: unknown;
}
/** What the schema is made of. */
export interface Definition {
  fields: FieldOf[];
  customFields: FieldOf[];
  allowUndeclaredCustomFields: boolean;
}
const TYPES = (): [string, string][] => [
  ['string', t('Text, one line')], ['text', t('Text, several lines')], ['integer', t('Whole number')], ['number', t('Number')], ['boolean', t('Yes or no')], ['date', t('Date')], ['datetime', t('Date and time')], ['email', t('E-mail')], ['phone', t('Phone')],
  ['url', t('Address of a page')], ['select', t('One of several options')], ['multiselect', t('Several options')], ['tags', t('Tags')], ['object', t('JSON object')],
];
const hasOptions = (type: string) => type == 'select' || type == 'multiselect';
/** Options as lines: `value` or `value = label`. */
const linesOf = (options: FieldOf['options']) => (options ?? []).map((one) => (one.value == one.label ? one.value : `${one.value} = ${one.label}`)).join('\n');
const optionsOf = (lines: string) => lines.split('\n').filter((line) => line.trim()).map((line) => {
  const at = line.indexOf('=');
  return at < 0 ? { value: line.trim(), label: line.trim() } : { value: line.slice(0, at).trim(), label: line.slice(at + 1).trim() };
});
const length = (text: string) => (/^\d{1,6}$/.test(text.trim()) ? Number(text) : null);

/** The dialog of a field; none makes a new one. Nothing is saved here: it changes the draft of the schema. */
export const FieldDialog = ({ field, taken, isCustom, save, close }: { field: FieldOf | null; taken: string[]; isCustom: boolean; save: (field: FieldOf) => void; close: () => void }) => {
  const initial = { name: field?.name ?? '', label: field?.label ?? '', type: field?.type ?? 'string', required: !!field?.required, unique: !!field?.unique, sensitive: !!field?.sensitive, pattern: field?.pattern ?? '', maxLength: String(field?.maxLength ?? ''), options: linesOf(field?.options) };
  const form = useForm(`schema-field-${isCustom}-${field?.name ?? ''}`, initial);
  const { values } = form;
  const name = values.name.trim();
  const isTaken = !field && taken.includes(name);
  const isReady = !!name && !isTaken && (!isCustom || !!values.label.trim()) && (!hasOptions(values.type) || !!optionsOf(values.options).length);
  const isText = values.type == 'string' || values.type == 'text';
  const leave = () => {
    form.reset(initial);
    close();
  };
  const apply = () => {
    if (!isReady) return;
    const differs = (member: keyof typeof initial) => values[member] !== initial[member];
    const next: FieldOf = { ...field, name, label: values.label.trim() || field?.label, type: values.type, required: values.required, unique: values.unique, sensitive: values.sensitive };
    if (differs('pattern')) next.pattern = values.pattern || null;
    if (differs('maxLength')) next.maxLength = length(values.maxLength);
    if (hasOptions(values.type) || differs('options')) next.options = optionsOf(values.options);
    form.reset(initial);
    save(next);
  };
  useKeys([{ key: 'mod+Enter', label: t('Apply'), run: apply }]);
  const text = (member: 'name' | 'label' | 'pattern' | 'maxLength' | 'options') => ({ value: values[member], onInput: (value: string) => form.set(member, value) });
  const check = (member: 'required' | 'unique' | 'sensitive', label: string) => <Check label={label} checked={values[member]} onChange={(on) => form.set(member, on)} />;
  return (
    <Dialog title={field ? t('Field {name}', { name: field.label ?? field.name }) : t('New field')} onClose={leave} foot={<><Button onClick={leave}>{t('Cancel')}</Button><Button kind="main" keys="mod+Enter" off={!isReady} onClick={apply}>{t('Apply')}</Button></>}>
      <form class="stack" noValidate onSubmit={(event) => { event.preventDefault(); apply(); }}>
        {!field && <TextField label={t('Name')} mono autofocus hint={t('As programs write it, such as memberNumber. It stays as it is.')} error={isTaken ? t('There is a field with this name.') : undefined} {...text('name')} />}
        <TextField label={t('Label')} {...text('label')} />
        {!field && <Select label={t('Type')} value={values.type} options={TYPES()} onChange={(type) => form.set('type', type)} />}
        {hasOptions(values.type) && <TextField label={t('Options')} rows={4} hint={t('One in a line: a value, or a value and its label, such as gold = Gold.')} {...text('options')} />}
        {isText && <><TextField label={t('At most so many characters')} inputmode="numeric" {...text('maxLength')} /><TextField label={t('Pattern')} mono hint={t('A regular expression, such as ^M[0-9]{6}$. Empty for none.')} {...text('pattern')} /></>}
        <div class="stack tight">{check('required', t('Required'))}{check('unique', t('Unique: no two contacts have the same value'))}{check('sensitive', t('Sensitive: hidden until somebody reveals it'))}</div>
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
};
