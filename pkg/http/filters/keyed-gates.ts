import type { ServerResponse } from 'node:http';
import { Gate, type GateOptions } from './gate.ts';

/** What a request enters and leaves: a gate, or that of its key. */
export type Entrance = Pick<Gate, 'enter' | 'reenter' | 'leave'>;

/** A gate for each key, kept while anybody is in it or waits. */
export class KeyedGates {
  private readonly options: GateOptions;
  private readonly gates = new Map<string, Gate>();

  constructor(options: GateOptions) {
    this.options = options;
  }

  get waiting(): number {
    let waiting = 0;
    for (const gate of this.gates.values()) waiting += gate.waiting;
    return waiting;
  }

  of(key: string): Entrance {
    return new KeyedEntrance(key, this);
  }

  gate(key: string): Gate {
    let gate = this.gates.get(key);
    if (gate === undefined) this.gates.set(key, (gate = new Gate(this.options)));
    return gate;
  }

  forget(key: string): void {
    const gate = this.gates.get(key);
    if (gate !== undefined && gate.running + gate.waiting === 0) this.gates.delete(key);
  }
}

class KeyedEntrance implements Entrance {
  private readonly key: string;
  private readonly gates: KeyedGates;

  constructor(key: string, gates: KeyedGates) {
    this.key = key;
    this.gates = gates;
  }

  enter(response: ServerResponse, waitedMs?: number): boolean | Promise<boolean> {
    return this.orForget(this.gates.gate(this.key).enter(response, waitedMs));
  }

  reenter(response: ServerResponse): boolean | Promise<boolean> {
    return this.orForget(this.gates.gate(this.key).reenter(response));
  }

  leave(): void {
    this.gates.gate(this.key).leave();
    this.gates.forget(this.key);
  }

  private orForget(isIn: boolean | Promise<boolean>): boolean | Promise<boolean> {
    if (isIn === true) return true;
    if (isIn !== false) return isIn.then((later) => this.orForget(later));
    this.gates.forget(this.key);
    return false;
  }
}
