import { isAtLeast, type AuditLevel } from './audit-level.ts';
import type { AuditStage } from './audit-stage.ts';
import { CompiledAuditRule, resourceFormsOf, type AuditAttributes } from './compiled-audit-rule.ts';
import { defaultPolicyText } from './default-policy.ts';
import { readPolicyDocument, type PolicyDocument } from './policy-document.ts';

export type { AuditAttributes } from './compiled-audit-rule.ts';

/** What a policy says of a request. */
export interface AuditDecision {
  readonly level: AuditLevel;
  /** No event is recorded at these. */
  readonly omitStages: ReadonlySet<AuditStage>;
  /** The recorded objects have no `metadata.managedFields`. A rule's own value counts before the policy's. */
  readonly omitManagedFields: boolean;
}

/** Resources whose content is never recorded: `group/resource`, or `group/resource/subresource` for that alone. */
const confidential = new Set(['/secrets', '/serviceaccounts/token', 'authentication.k8s.io/tokenreviews']);

/**
 * Decides at which level each request is recorded: the first rule that matches it decides, and None if none does.
 * Secrets, token reviews and tokens of service accounts are recorded at Metadata at most, whatever the rules say.
 * Source: k8s.io/apiserver/pkg/audit/policy; the limit for secrets is the platform's own.
 */
export class AuditPolicy {
  /** The policy of `defaultPolicyText`. */
  static readonly default: AuditPolicy = new AuditPolicy(readPolicyDocument(defaultPolicyText));

  readonly #rules: readonly CompiledAuditRule[];
  /** The verbs of which anything is recorded; undefined: all. */
  readonly #verbs: ReadonlySet<string> | undefined;
  /** Of a request that no rule matches. */
  readonly #unmatched: AuditDecision;

  /** Use `parseAuditPolicy`, which checks the document. */
  constructor(document: PolicyDocument) {
    this.#rules = document.rules.map((rule) => new CompiledAuditRule(rule, document));
    const recording = document.rules.filter(({ level }) => level !== 'None');
    if (recording.every(({ verbs }) => verbs.length > 0))
      this.#verbs = new Set(recording.flatMap(({ verbs }) => verbs));
    const { omitStages, omitManagedFields } = document;
    this.#unmatched = { level: 'None', omitStages: new Set(omitStages), omitManagedFields };
  }

  decide(attributes: AuditAttributes): AuditDecision {
    // Most requests are reads, of which most policies record none.
    if (this.#verbs?.has(attributes.verb) === false) return this.#unmatched;
    const forms = resourceFormsOf(attributes);
    const rule = this.#rules.find((each) => each.matches(attributes, forms));
    if (rule === undefined) return this.#unmatched;
    const isLimited = isAtLeast(rule.level, 'Request') && isConfidential(attributes);
    return isLimited
      ? { level: 'Metadata', omitStages: rule.omitStages, omitManagedFields: rule.omitManagedFields }
      : rule;
  }
}

/**
 * Reads a policy from YAML or JSON: `apiVersion: audit.k8s.io/v1`, `kind: Policy`. Limits: 1 MiB, 1000 rules, 1000
 * entries of a list, and those of `decodeYaml`. Unknown fields are refused. Validation follows
 * k8s.io/apiserver/pkg/apis/audit/validation.
 * @throws AuditPolicyError for anything else; it names the first field that breaks a rule
 */
export function parseAuditPolicy(text: string): AuditPolicy {
  return new AuditPolicy(readPolicyDocument(text));
}

function isConfidential({ isResourceRequest, group, resource, subresource }: AuditAttributes): boolean {
  const name = `${group}/${resource}`;
  return isResourceRequest && (confidential.has(name) || confidential.has(`${name}/${subresource}`));
}
