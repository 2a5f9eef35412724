import { formatPath } from '#pkg/apimachinery/index';

/** A schema that a definition cannot express: `spec.tags[*] is a tuple; ...`. */
export function newSchemaError(path: string, problem: string): TypeError {
  return new TypeError(`${path} ${problem}`);
}

/** The path of a property. */
export function childOf(path: string, name: string): string {
  const step = formatPath([name]);
  return step.startsWith('[') ? `${path}${step}` : `${path}.${step}`;
}
