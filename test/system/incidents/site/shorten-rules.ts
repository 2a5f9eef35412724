const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * The rules as they are when time passes `speed` times as fast: every `for`, every range and every offset is that much
 * shorter. Numbers, such as the seconds until a certificate ends, stay.
 */
export function shortenRules(rules: string, speed: number): string {
  return rules
    .replaceAll(/^(\s+for: )(\w+)$/gm, (_whole, key: string, duration: string) => key + shorter(duration, speed))
    .replaceAll(/\[(\d+[smhd])\]/g, (_whole, duration: string) => `[${shorter(duration, speed)}]`)
    .replaceAll(/\b(offset )(\d+[smhd])\b/g, (_whole, key: string, duration: string) => key + shorter(duration, speed));
}

/** In milliseconds, which Prometheus takes too. */
export function shorter(duration: string, speed: number): string {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  if (count === undefined) throw new Error(`${duration} is no duration of a rule`);
  return `${Math.round((Number(count) * unitSeconds[unit!]! * 1000) / speed)}ms`;
}
