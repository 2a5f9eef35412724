import { formatPath } from '#pkg/apimachinery/index';

/** What a model's author wrote and no definition can say: `spec.tags[*] is a tuple; ...`. */
export function newSchemaError(path: string, problem: string): TypeError {
  return new TypeError(`${path} ${problem}`);
}

/** The path of a property. */
export function childOf(path: string, name: string): string {
  const step = formatPath([name]);
  return step.startsWith('[') ? `${path}${step}` : `${path}.${step}`;
}
