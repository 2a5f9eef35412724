import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import type { HaproxyProcess } from '../harness/process/haproxy-process.ts';
import { freePort } from '../harness/process/free-port.ts';
import type { AttackOptions } from './attack-options.ts';
import { startAttackFixtures, type AttackFixtures } from './attack-fixtures.ts';
import type { Order, Results } from './attacker.ts';
import { attacks, type Attack } from './attacks.ts';
import { LegitimateUser, type UserResults } from './legitimate-user.ts';
import { startProxy, type ServicePorts } from './proxy.ts';

/** The user's address, shared with attackers, as behind one router. */
const userAddress = '127.0.0.20';
const attackerAddresses = [userAddress, ...Array.from({ length: 8 }, (_, i) => `127.0.0.${31 + i}`)];
/** A response within this time is fine, however fast it is without an attack. Milliseconds. */
const harmlessMs = 100;
const burstCount = 200;

/** One check, and its problems. */
export interface Verdict {
  name: string;
  way: string;
  p50: number;
  p99: number;
  results: Results;
  failures: string[];
}

/** Runs each attack separately, against the server and through haproxy, while a user works. */
export async function runAttacks(options: AttackOptions, report: (verdict: Verdict) => void): Promise<void> {
  const fixtures = await startAttackFixtures(options.dataParent);
  const attacker = fork(fileURLToPath(new URL('attacker.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] });
  const folder = await mkdtemp(join(options.dataParent, 'svc-attack-'));
  let proxy: HaproxyProcess | undefined;
  try {
    const proxied: ServicePorts = { platform: await freePort(), access: await freePort() };
    proxy = await startProxy(folder, { at: proxied, to: fixtures.ports });
    const ways = [
      { way: 'direct', ports: fixtures.ports },
      { way: 'haproxy', ports: proxied },
    ];
    const chosen = attacks.filter(({ name }) => name.includes(options.only));
    const turns = options.isSample ? chosen.length : ways.length * chosen.length;
    const seconds = Math.max(1, options.seconds / (turns + ways.length));
    for (const [index, { way, ports }] of ways.entries()) {
      const own = chosen.filter((attack, i) =>
        tls(attack) ? index === 0 : !options.isSample || i % ways.length === index,
      );
      await attackBy({ fixtures, attacker, ports, way, seconds, chosen: own, options, report });
    }
    if (!fixtures.server.process.isRunning)
      throw new Error(
        `the process ended: ${fixtures.server.process.exitStatus}; ${fixtures.server.process.log().slice(-3000)}`,
      );
    await fixtures.server.fetch('/livez');
  } finally {
    attacker.kill();
    await proxy?.stop();
    await fixtures.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Way {
  fixtures: AttackFixtures;
  attacker: ChildProcess;
  ports: ServicePorts;
  way: string;
  seconds: number;
  chosen: typeof attacks;
  options: AttackOptions;
  report: (verdict: Verdict) => void;
}

async function attackBy({ fixtures, attacker, ports, way, seconds, chosen, options, report }: Way): Promise<void> {
  const user = new LegitimateUser(fixtures, {
    ports,
    address: userAddress,
    ...(way === 'direct' ? { tlsPort: fixtures.tlsPort } : {}),
  });
  try {
    // The effects of the previous attack may last on a slow machine.
    await retryUntilTrue(() => user.introduce().then(() => true), {
      what: 'the user is served before any attack',
      timeoutMs: 60_000,
    });
    const quiet = await user.use(seconds);
    report(verdictOf(quiet, { name: 'nobody attacks', way }));
    for (const service of ['platform', 'access'] as const)
      report(
        verdictOf(await user.burst(burstCount, service), {
          name: `${burstCount} requests of a session at once, ${service}`,
          way,
        }),
      );
    const limitMs = options.isSample ? undefined : Math.max(harmlessMs, 2 * quantile(quiet.times, 0.99));
    for (const attack of chosen) {
      attacker.send({
        attack,
        port: tls(attack) ? fixtures.tlsPort : ports[attack.service],
        addresses: attackerAddresses,
        seed: options.seed,
      } satisfies Order);
      await delay(seconds * 200);
      const experience = await user.use(seconds * 0.8);
      attacker.send('stop');
      const [results] = (await once(attacker, 'message')) as [Results];
      // Connections left from the attack are accepted first.
      await retryUntilTrue(async () => (await fetch(`http://127.0.0.1:${fixtures.ports[attack.service]}/livez`)).ok, {
        what: 'a new connection is served again',
        timeoutMs: 60_000,
      });
      const verdict = verdictOf(experience, {
        name: `${attack.name}, ${attack.service}`,
        way,
        results,
        ...(limitMs === undefined ? {} : { limitMs }),
      });
      if (!hasReached(results)) verdict.failures.push('the attack had no effect');
      report(verdict);
    }
  } finally {
    user.close();
  }
}

function tls(attack: Attack): boolean {
  return attack.kind === 'hold' && attack.isTls === true;
}

/** Whether any request was answered or any connection held open. */
function hasReached(results: Results): boolean {
  return Object.keys(results).some((each) => /^(?:\d{3}|held [1-9]\d*)$/.test(each));
}

function verdictOf(
  { times, failures }: UserResults,
  { name, way, results = {}, limitMs }: { name: string; way: string; results?: Results; limitMs?: number },
): Verdict {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99] = [quantile(sorted, 0.5), quantile(sorted, 0.99)];
  const wrong = [...failures].map(([failure, count]) => `${count} times ${failure}`);
  if (limitMs !== undefined && p99 > limitMs)
    wrong.push(`p99 is ${p99.toFixed(0)} ms of at most ${limitMs.toFixed(0)}`);
  return { name, way, p50, p99, results, failures: wrong };
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
