const parameter = /([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))/y;
const comma = /[ \t]*,[ \t]*/y;

export interface AuthorizationParameter {
  readonly value: string;
  readonly isQuoted: boolean;
}

/**
 * `name="value",other=value` of an Authorization header, by lower-case name; undefined if it cannot be parsed or a name
 * is repeated. Source: RFC 9110, 11.4.
 */
export function parseAuthorizationParameters(text: string): ReadonlyMap<string, AuthorizationParameter> | undefined {
  const parameters = new Map<string, AuthorizationParameter>();
  for (let at = 0; ; at = comma.lastIndex) {
    parameter.lastIndex = at;
    const [, name, quoted, bare] = parameter.exec(text) ?? [];
    const key = name?.toLowerCase();
    if (key === undefined || parameters.has(key)) return undefined;
    parameters.set(
      key,
      bare === undefined
        ? { value: quoted!.replaceAll(/\\(.)/g, '$1'), isQuoted: true }
        : { value: bare, isQuoted: false },
    );
    if (parameter.lastIndex === text.length) return parameters;
    comma.lastIndex = parameter.lastIndex;
    if (!comma.test(text)) return undefined;
  }
}
