import {
  decodeYaml,
  isStatusError,
  maxYamlBytes,
  validateName,
  type DecodeResult,
  type JsonValue,
} from '#pkg/apimachinery/index';
import { auditLevels, type AuditLevel } from './audit-level.ts';
import { AuditPolicyError } from './audit-policy-error.ts';
import { auditStages, type AuditStage } from './audit-stage.ts';
import { PolicyField } from './policy-field.ts';

/** A checked audit policy. A list that the text does not have is empty. Source: audit.k8s.io/v1 Policy. */
export interface PolicyDocument {
  readonly rules: readonly AuditRule[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly AuditResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly AuditStage[];
  /** Undefined: as the policy says. */
  readonly omitManagedFields: boolean | undefined;
}

/** Resources of one group: '' is the core group, `*` every group. */
export interface AuditResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** Reads a policy by the rules of `parseAuditPolicy`. @throws AuditPolicyError */
export function readPolicyDocument(text: string): PolicyDocument {
  const policy = new PolicyField(decode(text)).fields(
    'apiVersion',
    'kind',
    'metadata',
    'rules',
    'omitStages',
    'omitManagedFields',
  );
  policy.apiVersion.constant('audit.k8s.io/v1');
  policy.kind.constant('Policy');
  const rules = policy.rules.entries().map(readRule);
  if (rules.length === 0) throw policy.rules.refusal('must have at least one rule');
  return {
    rules,
    omitStages: readStages(policy.omitStages),
    omitManagedFields: policy.omitManagedFields.flag() ?? false,
  };
}

function decode(text: string): JsonValue {
  // The decoder has this limit for YAML alone.
  if (Buffer.byteLength(text) > maxYamlBytes)
    throw new AuditPolicyError(`the policy: must have at most ${maxYamlBytes} bytes`);
  const { value, duplicates, dropped } = decodeBytes(Buffer.from(text));
  if (duplicates[0] !== undefined) throw new AuditPolicyError(`${duplicates[0]}: must be set once`);
  if (dropped[0] !== undefined) throw new AuditPolicyError(`${dropped[0]}: unknown field`);
  return value;
}

function decodeBytes(bytes: Buffer): DecodeResult {
  try {
    return decodeYaml(bytes);
  } catch (error) {
    if (!isStatusError(error)) throw error;
    throw new AuditPolicyError(error.message.replace(/^the body(?: of the request)?/, 'the policy'), { cause: error });
  }
}

function readRule(field: PolicyField): AuditRule {
  const rule = field.fields(
    'level',
    'users',
    'userGroups',
    'verbs',
    'resources',
    'namespaces',
    'nonResourceURLs',
    'omitStages',
    'omitManagedFields',
  );
  if (!rule.level.isPresent) throw rule.level.refusal('is required');
  const resources = rule.resources.entries().map(readResources);
  const namespaces = rule.namespaces.texts();
  const nonResourceURLs = rule.nonResourceURLs.entries().map(readPath);
  if (nonResourceURLs.length > 0 && resources.length + namespaces.length > 0)
    throw rule.nonResourceURLs.refusal('must not be in a rule with resources or namespaces');
  return {
    level: rule.level.oneOf(auditLevels, 'level'),
    users: rule.users.texts(),
    userGroups: rule.userGroups.texts(),
    verbs: rule.verbs.texts(),
    resources,
    namespaces,
    nonResourceURLs,
    omitStages: readStages(rule.omitStages),
    omitManagedFields: rule.omitManagedFields.flag(),
  };
}

function readResources(field: PolicyField): AuditResources {
  const { group, ...lists } = field.fields('group', 'resources', 'resourceNames');
  const name = group.isPresent ? group.text() : '';
  const violation = name === '' || name === '*' ? undefined : validateName(name, 'dns-subdomain');
  if (violation !== undefined) throw group.refusal(violation);
  const resources = lists.resources.texts();
  const resourceNames = lists.resourceNames.texts();
  if (resourceNames.length > 0 && resources.length === 0) throw lists.resourceNames.refusal('needs resources');
  return { group: name, resources, resourceNames };
}

function readPath(field: PolicyField): string {
  const path = field.text();
  if (path === '*') return path;
  if (!path.startsWith('/')) throw field.refusal('must begin with "/", or be "*"');
  if (path.slice(0, -1).includes('*')) throw field.refusal('may have "*" only at the end');
  return path;
}

function readStages(field: PolicyField): AuditStage[] {
  return field.entries().map((entry) => entry.oneOf(auditStages, 'stage'));
}
