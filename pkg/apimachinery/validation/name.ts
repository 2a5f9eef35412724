import type { NameRule } from '../scheme/model.ts';
import { pathSegmentViolation } from './path-segment.ts';

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

const rules: Record<Exclude<NameRule, 'path-segment'>, { max: number; form: RegExp; text: string }> = {
  model: {
    max: 253,
    form: dnsLabel,
    text: "must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc')",
  },
  'dns-label': {
    max: 63,
    form: dnsLabel,
    text: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc')",
  },
  'dns-subdomain': {
    max: 253,
    form: dnsSubdomain,
    text: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com')",
  },
};

/**
 * The text of the rule that a name breaks, or undefined for a valid one. Source:
 * k8s.io/apimachinery/pkg/util/validation; `model` is the platform's own, a DNS label of up to 253 characters.
 */
export function validateName(name: string, rule: NameRule): string | undefined {
  if (rule === 'path-segment') return pathSegmentViolation(name);
  const { max, form, text } = rules[rule];
  if (name.length > max) return `must be no more than ${max} characters`;
  return form.test(name) ? undefined : text;
}
