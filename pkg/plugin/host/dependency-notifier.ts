import type { Plugin } from '#pkg/apis/index';
import { ChannelSource } from '#pkg/runtime/index';
import { dependenciesOf, dependentsOf } from './dependencies.ts';
import { pluginKey } from './plugin-record.ts';

/** For dependents to stop before what they depend on. Milliseconds. */
const dependentsTimeoutMs = 30_000;

/**
 * What plugins that depend on one another are to know of one another: whoever changes asks for a look at the others.
 */
export class DependencyNotifier {
  readonly source = new ChannelSource();
  /** What was told of each last. */
  readonly #lastNotified = new Map<string, string>();
  /** Those that are to stop, and since when they wait for their dependents to do so first. */
  readonly #stopping = new Map<string, number>();

  enqueue(name: string): void {
    this.source.push(pluginKey(name));
  }

  /**
   * Those that depend on it are told when it came, went or changed; those it depends on when it went, as they may wait
   * for that.
   */
  notify(
    name: string,
    all: readonly Plugin[],
    { isRunning, isWanted }: { isRunning: boolean; isWanted: boolean },
  ): void {
    const plugin = all.find(({ metadata }) => metadata.name === name);
    const news = JSON.stringify([isRunning, isWanted, plugin?.spec.version]);
    if (this.#lastNotified.get(name) === news) return;
    if (plugin === undefined) this.#lastNotified.delete(name);
    else this.#lastNotified.set(name, news);
    for (const each of dependentsOf(name, all)) this.enqueue(each);
    if (plugin !== undefined && !isRunning) for (const each of dependenciesOf(plugin)) this.enqueue(each);
  }

  /** Is it about to stop? Then others must not count on it. */
  isStopping(name: string): boolean {
    return this.#stopping.has(name);
  }

  cancelStop(name: string): void {
    this.#stopping.delete(name);
  }

  /**
   * Begins its stop: must it wait for those of `running` that depend on it? They are asked to go; it does not wait for
   * ever.
   */
  mustWait(name: string, all: readonly Plugin[], running: { has(name: string): boolean }): boolean {
    const since = this.#stopping.get(name) ?? performance.now();
    this.#stopping.set(name, since);
    const dependents = dependentsOf(name, all).filter((each) => running.has(each));
    if (dependents.length === 0 || performance.now() - since > dependentsTimeoutMs) return false;
    for (const each of dependents) this.enqueue(each);
    return true;
  }
}
