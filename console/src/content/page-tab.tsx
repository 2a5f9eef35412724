import { useMemo } from 'react';
import { usePluginPage } from '../frame/use-plugin-page.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { PluginPageBody } from './plugin-page-body.tsx';

interface PageTabProps {
  page: string;
  model: ModelInfo;
  /** Empty for none. */
  namespace: string;
  name: string;
}

/** A page of a plugin as a tab of an object. */
export default function PageTab({ page, model, namespace, name }: PageTabProps) {
  const object = useMemo(() => ({ model, namespace, name }), [model, namespace, name]);
  return <PluginPageBody shown={usePluginPage(page, 'objectTab')} object={object} />;
}
