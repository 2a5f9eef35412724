import { validateName } from './name.ts';

/** The platform's own keys under `svc.run`, with their place: the only keys of that domain that clients may set. */
export const platformKeys: ReadonlyMap<string, 'label' | 'annotation'> = new Map([
  ['svc.run/awaits-quota', 'annotation'],
  ['svc.run/do-not-overwrite', 'label'],
  ['svc.run/endpoint-key', 'annotation'],
  ['svc.run/leaving', 'annotation'],
  ['svc.run/organization', 'annotation'],
  ['svc.run/plugin', 'label'],
  ['svc.run/resume-position', 'annotation'],
  ['svc.run/served-versions', 'annotation'],
]);

/** Whether the key is under `svc.run` or a domain below it, and not one of the platform's own. */
export function isReservedKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash < 0 || platformKeys.has(key)) return false;
  const prefix = key.slice(0, slash);
  return prefix === 'svc.run' || prefix.endsWith('.svc.run');
}

const namePart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** The rule that a key of a label or annotation, or a finalizer, breaks: `[<DNS subdomain>/]<name>`. */
export function validateQualifiedKey(key: string): string | undefined {
  const parts = key.split('/', 3);
  if (parts.length > 2)
    return "a qualified name may hold one '/', between an optional DNS subdomain prefix and the name (e.g. 'example.com/MyName')";
  const name = parts.at(-1) ?? '';
  if (parts.length === 2) {
    const violation = parts[0] === '' ? 'must be non-empty' : validateName(parts[0] ?? '', 'dns-subdomain');
    if (violation !== undefined) return `prefix part ${violation}`;
  }
  if (name === '') return 'name part must be non-empty';
  if (name.length > 63) return 'name part must be no more than 63 characters';
  if (namePart.test(name)) return undefined;
  return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName', or 'my.name', or '123-abc')";
}

/** The rule that a label's value breaks. */
export function validateLabelValue(value: string): string | undefined {
  if (value.length > 63) return 'must be no more than 63 characters';
  if (value === '' || namePart.test(value)) return undefined;
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue', or 'my_value', or '12345')";
}
