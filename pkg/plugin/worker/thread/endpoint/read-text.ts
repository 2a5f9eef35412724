import { isInexactNumber, isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';

/**
 * Converts a text of a path or a query to the type of its schema: one of the listed values, else a number, boolean or
 * null if the schema allows it and the text is exactly that in JSON. Otherwise it stays a text, and validation reports
 * the expected type.
 */
export function valueOfText(text: string, schema: JsonValue | undefined): JsonValue {
  const choices = choicesOf(schema);
  const listed = choices.flatMap(valuesListed).find((value) => String(value) === text);
  if (listed !== undefined) return listed;
  const types = new Set(choices.flatMap((choice) => choice['type'] ?? []));
  if (types.has('integer') && /^-?(?:0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text)))
    return Number(text) + 0;
  if (
    types.has('number') &&
    /^-?(?:0|[1-9]\d{0,15})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/.test(text) &&
    !isInexactNumber(Number(text), text)
  )
    return Number(text) + 0;
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (types.has('null') && text === 'null') return null;
  return text;
}

/** Whether the parameter can be repeated. */
export function isList(schema: JsonValue | undefined): schema is JsonObject {
  return isJsonObject(schema) && schema['type'] === 'array';
}

function choicesOf(schema: JsonValue | undefined): JsonObject[] {
  if (!isJsonObject(schema)) return [];
  const branches = schema['anyOf'] ?? schema['oneOf'];
  return Array.isArray(branches) ? branches.flatMap(choicesOf) : [schema];
}

function valuesListed({ enum: values, const: value }: JsonObject): (string | number | boolean | null)[] {
  return [...(Array.isArray(values) ? values : []), ...(value === undefined ? [] : [value])].filter(
    (each) => typeof each !== 'object' || each === null,
  );
}
