const label = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const mixedCaseLabel = /^[A-Za-z](?:[-A-Za-z0-9]*[A-Za-z0-9])?$/;

const problem =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/**
 * Why the text is no DNS-1035 label, in Kubernetes' wording; undefined if it is one. Source:
 * k8s.io/apimachinery/pkg/util/validation.
 */
export function labelFault(text: string): string | undefined {
  if (text.length > 63) return 'must be no more than 63 bytes';
  return label.test(text) ? undefined : problem;
}

/**
 * As labelFault, for a name that may have capitals. Only ASCII letters: with toLowerCase first, the Kelvin sign would
 * pass as a k.
 */
export function mixedCaseLabelFault(text: string): string | undefined {
  if (text.length > 63) return 'may have mixed case, but should otherwise match: must be no more than 63 bytes';
  return mixedCaseLabel.test(text) ? undefined : `may have mixed case, but should otherwise match: ${problem}`;
}
