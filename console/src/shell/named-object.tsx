import { Link } from 'wouter';
import { findModel } from '../server/discovery.ts';
import { objectLink } from './links.ts';

export interface NamedObjectProps {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
}

/** An object that another one names: a link where the server has the model. */
export function NamedObject({ apiVersion, kind = '', namespace = '', name = '' }: NamedObjectProps) {
  const model = findModel(apiVersion, kind);
  const text = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  if (model === undefined || name === '') return text;
  return <Link href={objectLink(model, model.namespaced ? { namespace, name } : { name })}>{text}</Link>;
}
