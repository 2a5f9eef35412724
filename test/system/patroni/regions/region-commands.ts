import { ports } from '../cluster/config-files.ts';

/** Arguments of patronictl that make a cluster the standby of the one on these hosts. docs/availability.md shows them. */
export function followArguments(hosts: readonly string[]): string[] {
  const [host, port] = [hosts.join(','), ports.postgres];
  return ['edit-config', '--force', '-s', `standby_cluster.host=${host}`, '-s', `standby_cluster.port=${port}`];
}

/** Arguments of patronictl that make a standby cluster one with a primary. */
export const promoteArguments = ['edit-config', '--force', '-s', 'standby_cluster=null'];

/** Arguments of patronictl that give a server the data of its cluster's leader. */
export function copyArguments(name: string): string[] {
  return ['reinit', 'svc', name, '--force', '--wait'];
}
