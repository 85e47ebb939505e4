import type { FormField } from './schema-fields.ts';

type FieldsProps = {
  fields: readonly FormField[];
  texts: Readonly<Record<string, string>>;
  faults: Readonly<Record<string, string>>;
  change: (texts: Record<string, string>) => void;
};

/** The fields of a form. */
export function FieldsShown({ fields, texts, faults, change }: FieldsProps) {
  return (
    <>
      {fields.map((field) => {
        const fault = faults[field.name];
        return (
          <label key={field.name} class="field">
            <span>
              {field.label}
              {field.isRequired ? '' : ' (optional)'}
            </span>
            <Input
              field={field}
              text={texts[field.name] ?? field.initial}
              change={(text) => change({ ...texts, [field.name]: text })}
            />
            {field.help !== '' && <span class="quiet">{field.help}</span>}
            {fault !== undefined && <span class="wrong">{fault}</span>}
          </label>
        );
      })}
    </>
  );
}

function Input({
  field: { name, kind, choices, isRequired },
  text,
  change,
}: {
  field: FormField;
  text: string;
  change: (text: string) => void;
}) {
  if (kind === 'truth')
    return (
      <input
        type="checkbox"
        name={name}
        checked={text === 'true'}
        onChange={({ currentTarget }) => change(String(currentTarget.checked))}
      />
    );
  if (kind === 'choice')
    return (
      <select
        name={name}
        value={text}
        onChange={({ currentTarget }) => change(currentTarget.value)}
      >
        {(!isRequired || text === '') && <option value="">-</option>}
        {choices.map(({ label }, index) => (
          <option key={index} value={String(index)}>
            {label}
          </option>
        ))}
      </select>
    );
  if (kind === 'json')
    return (
      <textarea
        name={name}
        rows={4}
        class="mono"
        value={text}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    );
  const inputMode = kind === 'text' ? 'text' : 'decimal';
  return (
    <input
      name={name}
      inputMode={inputMode}
      value={text}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}
