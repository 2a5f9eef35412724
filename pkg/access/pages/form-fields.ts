import { html, type Html } from './html.ts';

/** Error messages of a form by field; those that concern no field are under ''. */
export type Problems = Readonly<Record<string, readonly string[]>>;

export interface FieldOptions {
  name: string;
  /** Unique on the page; default the name. */
  id?: string;
  label: string;
  /** Default `text`. */
  type?: 'text' | 'email' | 'password';
  value?: string;
  hint?: string | undefined;
  autocomplete?: string;
  required?: boolean;
  maxLength?: number;
  /** Several lines of text. */
  rows?: number;
  problems?: Problems | undefined;
}

/** A labelled field with its error messages; the first invalid field of a form gets the focus. */
export function field({
  name,
  id = name,
  label,
  type = 'text',
  value = '',
  hint,
  autocomplete = 'off',
  required = false,
  maxLength,
  rows,
  problems = {},
}: FieldOptions): Html {
  const wrong = problems[name] ?? [];
  const isFirst = wrong.length > 0 && Object.keys(problems).find((key) => key !== '') === name;
  const described = [hint !== undefined && `${id}-hint`, wrong.length > 0 && `${id}-wrong`]
    .filter((part) => part !== false)
    .join(' ');
  const attributes = html`id="${id}" name="${name}" autocomplete="${autocomplete}" ${required && html`required`} ${isFirst && html`autofocus`}
${maxLength !== undefined && html`maxlength="${maxLength}"`} ${described !== '' && html`aria-describedby="${described}"`} ${wrong.length > 0 && html`aria-invalid="true"`}
${autocomplete === 'username' && html`autocapitalize="none" spellcheck="false"`}`;
  return html`<div class="field">
<label for="${id}">${label}</label>
${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${wrong.length > 0 && html`<p class="wrong" id="${id}-wrong">${wrong.join(' ')}</p>`}
${
  rows === undefined
    ? html`<input type="${type}" value="${value}" ${attributes}>`
    : html`<textarea rows="${rows}" ${attributes}>
${value}</textarea>`
}
</div>`;
}

/** Error summary of a refused form: first on the page, announced by screen readers. */
export function problemNote(problems: Problems | undefined): Html | undefined {
  if (problems === undefined || Object.keys(problems).length === 0) return undefined;
  const general = problems[''] ?? [];
  return html`<div class="note bad" role="alert"><p>${general.length > 0 ? general.join(' ') : 'Nothing was changed. Please look at the fields that are marked.'}</p></div>`;
}

/** Message about a completed action. */
export function doneNote(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<div class="note good" role="status"><p>${text}</p></div>`;
}

export interface SelectOptions extends Pick<FieldOptions, 'name' | 'label' | 'problems'> {
  value: string;
  /** Pairs of value and text, in order. */
  options: readonly (readonly [string, string])[];
}

/** A list to choose one value from. */
export function select({ name, label, value, options, problems = {} }: SelectOptions): Html {
  const wrong = problems[name] ?? [];
  return html`<div class="field">
<label for="${name}">${label}</label>
${wrong.length > 0 && html`<p class="wrong" id="${name}-wrong">${wrong.join(' ')}</p>`}
<select id="${name}" name="${name}" ${wrong.length > 0 && html`aria-invalid="true" aria-describedby="${name}-wrong"`}>
${options.map(([each, text]) => html`<option value="${each}" ${each === value && html`selected`}>${text}</option>`)}
</select>
</div>`;
}

export interface ChoiceOptions {
  type: 'checkbox' | 'radio';
  name: string;
  id: string;
  label: string;
  value: string;
  isChecked: boolean;
}

/** A checkbox or radio button; put several of them in a fieldset. */
export function choiceField({ type, name, id, label, value, isChecked }: ChoiceOptions): Html {
  return html`<div class="choice"><input type="${type}" id="${id}" name="${name}" value="${value}" ${isChecked && html`checked`}><label for="${id}">${label}</label></div>`;
}
