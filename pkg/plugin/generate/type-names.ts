/** The generated names of one model. */
export interface TypeNames {
  object: string;
  spec: string;
  status: string;
  client: string;
  indexes: string;
}

/** Names that every file imports or uses. */
const reserved = [
  'Promise',
  'Object',
  'Array',
  'String',
  'Number',
  'Boolean',
  'Symbol',
  'Function',
  'Error',
  'Date',
  'Map',
  'Set',
  'Record',
];

/**
 * Gives each kind a unique identifier: `FooBar` for `foo-bar`, and `FooBar2` for the next kind with the same result.
 */
export class TypeNamer {
  readonly #taken = new Set(reserved);

  namesFor(kind: string): TypeNames {
    const base = identifier(kind);
    for (let number = 1; ; number += 1) {
      const object = number === 1 ? base : `${base}${number}`;
      const names = {
        object,
        spec: `${object}Spec`,
        status: `${object}Status`,
        client: `${object}Client`,
        indexes: `${object}Indexes`,
      };
      const all = Object.values(names);
      if (all.some((name) => this.#taken.has(name))) continue;
      for (const name of all) this.#taken.add(name);
      return names;
    }
  }
}

function identifier(kind: string): string {
  const words = kind.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const name = words
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('')
    .slice(0, 200);
  return /^[A-Z]/.test(name) ? name : `Kind${name}`;
}
