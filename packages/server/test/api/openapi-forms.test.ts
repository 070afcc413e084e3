import { expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('forms in the OpenAPI document', (engine) => {
  test('the form of a create names only the file fields that the role may write', async () => {
    const server = await TestServer.start(engine);
    try {
      const fields = ['photo', 'contract'].map((name) => ({ name, type: 'file' }));
      await server.data('POST /api/collections:create', {
        body: { name: 'books', fields: [{ name: 'title', type: 'string' }, ...fields] },
      });
      await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
      const permission = { role: { name: 'clerk' }, resource: 'books', actions: ['create', 'update', 'get'] };
      await server.data('POST /api/permissions:create', { body: { ...permission, fields: ['title', 'photo'] } });
      const { token } = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' } } });
      const document = (await server.call('GET /api/docs:openapi', { headers: { authorization: `Bearer ${token}` } }))
        .body;
      for (const action of ['create', 'update']) {
        const form = document.paths[`/api/books:${action}`].post.requestBody.content['multipart/form-data'].schema;
        expect(Object.keys(form.properties)).toEqual(['data', 'photo']);
      }
      expect(JSON.stringify(document)).not.toContain('contract');
    } finally {
      await server.stop();
    }
  });
});
