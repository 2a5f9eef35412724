import { isAtLeast, type AuditLevel } from './audit-level.ts';
import type { AuditStage } from './audit-stage.ts';
import { CompiledAuditRule, resourceFormsOf, type AuditAttributes } from './compiled-audit-rule.ts';
import { defaultPolicyText } from './default-policy.ts';
import { readPolicyDocument, type PolicyDocument } from './policy-document.ts';

export type { AuditAttributes } from './compiled-audit-rule.ts';

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
  readonly #omitStages: ReadonlySet<AuditStage>;
  readonly #omitManagedFields: boolean;

  /** Use `parseAuditPolicy`, which checks the document. */
  constructor(document: PolicyDocument) {
    this.#rules = document.rules.map((rule) => new CompiledAuditRule(rule, document));
    const recording = document.rules.filter(({ level }) => level !== 'None');
    if (recording.every(({ verbs }) => verbs.length > 0))
      this.#verbs = new Set(recording.flatMap(({ verbs }) => verbs));
    this.#omitStages = new Set(document.omitStages);
    this.#omitManagedFields = document.omitManagedFields;
  }

  levelOf(attributes: AuditAttributes): AuditLevel {
    // Most requests are reads, of which most policies record none.
    if (this.#verbs?.has(attributes.verb) === false) return 'None';
    const level = this.#ruleOf(attributes)?.level ?? 'None';
    return isAtLeast(level, 'Request') && isConfidential(attributes) ? 'Metadata' : level;
  }

  /** Whether the recorded objects have no `metadata.managedFields`. A rule's own value counts before the policy's. */
  omitsManagedFields(attributes: AuditAttributes): boolean {
    return this.#ruleOf(attributes)?.omitManagedFields ?? this.#omitManagedFields;
  }

  /** Whether no event is recorded at this stage: the rule or the policy omits it. */
  omitsStage(attributes: AuditAttributes, stage: AuditStage): boolean {
    return (this.#ruleOf(attributes)?.omitStages ?? this.#omitStages).has(stage);
  }

  #ruleOf(attributes: AuditAttributes): CompiledAuditRule | undefined {
    const forms = resourceFormsOf(attributes);
    return this.#rules.find((rule) => rule.matches(attributes, forms));
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
