import { formatPath, isJsonObject, nearestName, type JsonValue, type PathSegment } from '#pkg/apimachinery/index';
import { AuditPolicyError } from './audit-policy-error.ts';

/** Entries of a list. */
const maxEntries = 1000;
/** Characters of a wrong value in a message. */
const maxShown = 60;

/** A value in a policy and its path. Its methods return the value as a type. @throws AuditPolicyError for another type */
export class PolicyField {
  /** Undefined: the field is absent. A null is a value, and no method accepts it. */
  readonly #value: JsonValue | undefined;
  readonly #path: readonly PathSegment[];

  constructor(value: JsonValue | undefined, path: readonly PathSegment[] = []) {
    this.#value = value;
    this.#path = path;
  }

  get isPresent(): boolean {
    return this.#value !== undefined;
  }

  refusal(rule: string): AuditPolicyError {
    return new AuditPolicyError(`${formatPath(this.#path) || 'the policy'}: ${rule}`);
  }

  /** The fields of an object, which may have no others. */
  fields<Name extends string>(...names: readonly Name[]): Record<Name, PolicyField> {
    const value = this.#value;
    if (!isJsonObject(value)) throw this.refusal('must be an object');
    for (const key of Object.keys(value)) {
      if ((names as readonly string[]).includes(key)) continue;
      const nearest = nearestName(key.slice(0, maxShown), names);
      throw new PolicyField(null, [...this.#path, key]).refusal(
        nearest === undefined ? 'unknown field' : `unknown field; did you mean ${nearest}?`,
      );
    }
    const fields = names.map((name) => [name, new PolicyField(value[name], [...this.#path, name])]);
    return Object.fromEntries(fields) as Record<Name, PolicyField>;
  }

  /** The entries of a list; none if it is absent. */
  entries(): PolicyField[] {
    const value = this.#value === undefined ? [] : this.#value;
    if (!Array.isArray(value)) throw this.refusal('must be a list');
    if (value.length > maxEntries) throw this.refusal(`must have at most ${maxEntries} entries`);
    return value.map((entry, index) => new PolicyField(entry, [...this.#path, index]));
  }

  texts(): string[] {
    return this.entries().map((entry) => entry.text());
  }

  text(): string {
    if (typeof this.#value !== 'string') throw this.refusal('must be a string');
    return this.#value;
  }

  oneOf<Word extends string>(words: readonly Word[], what: string): Word {
    const text = this.text();
    const word = words.find((each) => each === text);
    if (word !== undefined) return word;
    const shown = text.length > maxShown ? `${text.slice(0, maxShown)}...` : text;
    throw this.refusal(`"${shown}" is not a ${what}; use ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);
  }

  constant(wanted: string): void {
    if (this.#value !== wanted) throw this.refusal(`must be ${wanted}`);
  }

  /** Undefined if it is absent. */
  flag(): boolean | undefined {
    if (this.#value !== undefined && typeof this.#value !== 'boolean') throw this.refusal('must be true or false');
    return this.#value;
  }
}
