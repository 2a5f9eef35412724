import {
  fieldError,
  isJsonObject,
  validateLabelValue,
  validateQualifiedKey,
  type JsonObject,
  type JsonValue,
  type StatusCause,
} from '#pkg/apimachinery/index';

const maxCauses = 100;

/**
 * Errors in the rules of a Role or ClusterRole, and in a ClusterRole's aggregation rule; at most 100 causes. The schema
 * checks the types. Source: k8s.io/kubernetes/pkg/apis/rbac/validation.
 */
export function validateRole(
  { rules, aggregationRule }: JsonObject,
  { namespaced }: { namespaced: boolean },
): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [index, rule] of list(rules).entries()) {
    if (causes.length >= maxCauses) break;
    if (isJsonObject(rule)) causes.push(...ruleCauses(rule, `rules[${index}]`, namespaced));
  }
  if (!namespaced && isJsonObject(aggregationRule)) causes.push(...aggregationCauses(aggregationRule));
  return causes.slice(0, maxCauses);
}

function ruleCauses(
  { verbs, apiGroups, resources, resourceNames, nonResourceURLs }: JsonObject,
  field: string,
  namespaced: boolean,
): StatusCause[] {
  const causes: StatusCause[] = [];
  if (list(verbs).length === 0)
    causes.push(fieldError.required(`${field}.verbs`, 'verbs must contain at least one value'));
  if (list(nonResourceURLs).length > 0) {
    const refuse = (detail: string): number =>
      causes.push(fieldError.invalid(`${field}.nonResourceURLs`, nonResourceURLs, detail));
    if (namespaced) refuse('namespaced rules cannot apply to non-resource URLs');
    if ([apiGroups, resources, resourceNames].some((each) => list(each).length > 0))
      refuse('rules cannot apply to both regular resources and non-resource URLs');
    return causes;
  }
  if (list(apiGroups).length === 0)
    causes.push(fieldError.required(`${field}.apiGroups`, 'resource rules must supply at least one api group'));
  if (list(resources).length === 0)
    causes.push(fieldError.required(`${field}.resources`, 'resource rules must supply at least one resource'));
  return causes;
}

function aggregationCauses({ clusterRoleSelectors }: JsonObject): StatusCause[] {
  const field = 'aggregationRule.clusterRoleSelectors';
  const selectors = list(clusterRoleSelectors);
  if (selectors.length === 0)
    return [fieldError.required(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  return selectors.flatMap((selector, index) =>
    isJsonObject(selector) ? selectorCauses(selector, `${field}[${index}]`) : [],
  );
}

/** Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation ValidateLabelSelector. */
function selectorCauses({ matchLabels, matchExpressions }: JsonObject, field: string): StatusCause[] {
  const labels = isJsonObject(matchLabels) ? Object.entries(matchLabels) : [];
  return [
    ...labels.flatMap(([key, value]) => [
      ...keyCauses(key, `${field}.matchLabels`),
      ...valueCauses(value, `${field}.matchLabels`),
    ]),
    ...list(matchExpressions).flatMap((each, index) =>
      isJsonObject(each) ? expressionCauses(each, `${field}.matchExpressions[${index}]`) : [],
    ),
  ];
}

function expressionCauses({ key, operator, values }: JsonObject, field: string): StatusCause[] {
  const count = list(values).length;
  const causes: StatusCause[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (count === 0)
      causes.push(fieldError.required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (count > 0)
      causes.push(
        fieldError.forbidden(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
  } else {
    causes.push(fieldError.invalid(`${field}.operator`, operator, 'not a valid selector operator'));
  }
  return [
    ...causes,
    ...keyCauses(key, `${field}.key`),
    ...list(values).flatMap((value, index) => valueCauses(value, `${field}.values[${index}]`)),
  ];
}

function keyCauses(key: JsonValue | undefined, field: string): StatusCause[] {
  const violation = typeof key === 'string' ? validateQualifiedKey(key) : undefined;
  return violation === undefined ? [] : [fieldError.invalid(field, key, violation)];
}

function valueCauses(value: JsonValue, field: string): StatusCause[] {
  const violation = typeof value === 'string' ? validateLabelValue(value) : undefined;
  return violation === undefined ? [] : [fieldError.invalid(field, value, violation)];
}

function list(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
