/** The routes of collections and records. Each page is a separate chunk that is loaded when it is first opened. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { parseImportSearch } from '../admin/imports/import-search.ts';
import { parseRecordsSearch } from '../admin/records/records-search.ts';
import { applicationRoute } from './app-route.tsx';

const getParentRoute = (): typeof applicationRoute => applicationRoute;

export const dataRoutes = [
  createRoute({
    getParentRoute,
    path: 'data',
    component: lazyRouteComponent(() => import('../admin/collections/collections-page.tsx'), 'CollectionsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'data/$collection',
    component: lazyRouteComponent(() => import('../admin/records/records-page.tsx'), 'RecordsPage'),
    validateSearch: parseRecordsSearch,
  }),
  createRoute({
    getParentRoute,
    path: 'data/$collection/new',
    component: lazyRouteComponent(() => import('../admin/record/record-page.tsx'), 'RecordPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'data/$collection/import',
    component: lazyRouteComponent(() => import('../admin/imports/import-page.tsx'), 'ImportPage'),
    validateSearch: parseImportSearch,
  }),
  createRoute({
    getParentRoute,
    path: 'data/$collection/$key',
    component: lazyRouteComponent(() => import('../admin/record/record-page.tsx'), 'RecordPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'collections/new',
    component: lazyRouteComponent(() => import('../admin/collections/new-collection-page.tsx'), 'NewCollectionPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'collections/import',
    component: lazyRouteComponent(
      () => import('../admin/imports/new-collection-import-page.tsx'),
      'NewCollectionImportPage',
    ),
    validateSearch: parseImportSearch,
  }),
  createRoute({
    getParentRoute,
    path: 'imports',
    component: lazyRouteComponent(() => import('../admin/imports/imports-page.tsx'), 'ImportsPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'imports/$import',
    component: lazyRouteComponent(() => import('../admin/imports/import-run-page.tsx'), 'ImportRunPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'collections/$collection',
    component: lazyRouteComponent(() => import('../admin/collections/definition-page.tsx'), 'DefinitionPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'diagram',
    component: lazyRouteComponent(() => import('../admin/collections/diagram-page.tsx'), 'DiagramPage'),
  }),
  createRoute({
    getParentRoute,
    path: 'docs',
    component: lazyRouteComponent(() => import('../admin/docs/docs-page.tsx'), 'DocsPage'),
  }),
] as const;
