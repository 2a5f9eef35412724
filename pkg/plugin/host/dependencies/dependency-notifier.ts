import type { Plugin } from '#pkg/apis/index';
import { ChannelSource } from '#pkg/runtime/index';
import { dependenciesOf, dependentsOf } from './dependencies.ts';
import { pluginKey } from '../record/plugin-record.ts';

/** How long a plugin waits for its dependents to stop before it stops. Milliseconds. */
const dependentsTimeoutMs = 30_000;

/**
 * Enqueues the dependents and dependencies of a plugin when it changes, and orders their stops.
 */
export class DependencyNotifier {
  readonly source = new ChannelSource();
  /** The state of each plugin that the others were last enqueued for. */
  readonly #lastNotified = new Map<string, string>();
  /** Plugins that are to stop, and since when they wait for their dependents. By `performance.now()`. */
  readonly #stopping = new Map<string, number>();

  enqueue(name: string): void {
    this.source.push(pluginKey(name));
  }

  /**
   * Enqueues its dependents if it started, stopped or changed; and its dependencies if it stopped, as they may wait for
   * that.
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

  /** Whether it is about to stop, so that other plugins must not depend on it. */
  isStopping(name: string): boolean {
    return this.#stopping.has(name);
  }

  /** Its worker ended without a reconcile: whatever comes next is news for the others. */
  forget(name: string): void {
    this.#stopping.delete(name);
    this.#lastNotified.delete(name);
  }

  cancelStop(name: string): void {
    this.#stopping.delete(name);
  }

  /**
   * Begins its stop and enqueues its running dependents. Answers whether it must wait for them, at most for
   * `dependentsTimeoutMs`.
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
