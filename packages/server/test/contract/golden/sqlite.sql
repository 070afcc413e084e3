-- get by key
SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}'),"albums_N"._v FROM "albums_N" WHERE "albums_N"."id_N"=?

-- get by filter
SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}'),"albums_N"._v FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."title_N"=?) ORDER BY "albums_N"."id_N" LIMIT 1

-- list without count
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 21)

-- list with count
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND (("albums_N"."title_N"=?) IS NOT TRUE)) ORDER BY "albums_N"."id_N" LIMIT 21)

-- list with estimate
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."id_N">?) ORDER BY "albums_N"."id_N" LIMIT 21)

-- list that hides its key
SELECT json_object('title',"albums_N"."title_N") AS j,"albums_N"."id_N" FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 21

-- list with versions
SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j,"albums_N"."id_N","albums_N"._v FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 21

-- second page by offset
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM (SELECT * FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "albums_N"."id_N" LIMIT 2 OFFSET ?) "albums_N")

-- filter through to-one
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."id_N" IS NOT NULL AND "t1"."name_N"=?))) ORDER BY "albums_N"."id_N" LIMIT 21)

-- filter through to-many
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"artists_N"."id_N",'name',"artists_N"."name_N",'createdAt',"artists_N"."createdat_N",'updatedAt',"artists_N"."updatedat_N") AS j FROM "artists_N" WHERE (("artists_N".rowid*2654435761>>16&1023 OR _tick()) AND "artists_N"."id_N" IN (SELECT "t1"."artistsid_N" FROM "albums_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."artistsid_N" IS NOT NULL AND instr(_fold("t1"."title_N"),?)>0))) ORDER BY "artists_N"."id_N" LIMIT 21)

-- filter of lists and logic
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND ("albums_N"."id_N" IN (SELECT value FROM json_each(?)) OR (("albums_N"."title_N" LIKE ? ESCAPE '\') IS NOT TRUE))) ORDER BY "albums_N"."id_N" LIMIT 21)

-- sort through to-one
SELECT concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}') AS j,(SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N"),"albums_N"."id_N" FROM "albums_N" WHERE ("albums_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY (SELECT "t1"."name_N" FROM "artists_N" "t1" WHERE "t1"."id_N"="albums_N"."artistid_N") DESC NULLS LAST,"albums_N"."id_N" DESC LIMIT 21

-- appends two levels deep
SELECT group_concat(j,',
'),count(*) FROM (SELECT concat('{',trim(json_object('id',"artists_N"."id_N",'name',"artists_N"."name_N",'createdAt',"artists_N"."createdat_N",'updatedAt',"artists_N"."updatedat_N"),'{}'),',','"albums":',(SELECT concat('[',CASE WHEN count(*)>1000 THEN _overflow('albums') ELSE group_concat(j,',') END,']')
FROM (SELECT concat('{',trim(json_object('id',"t1"."id_N",'title',"t1"."title_N",'released',"t1"."released_N",'live',iif("t1"."live_N" IS NULL,NULL,json(iif("t1"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("t1"."notes_N",'null'),',',trim(json_object('artistId',"t1"."artistid_N",'artistsId',"t1"."artistsid_N"),'{}'),',','"artist":',ifnull((SELECT json_object('id',"t2"."id_N",'name',"t2"."name_N",'createdAt',"t2"."createdat_N",'updatedAt',"t2"."updatedat_N") FROM "artists_N" "t2" WHERE "t2"."id_N"="t1"."artistid_N"),'null'),'}') AS j FROM "albums_N" "t1" WHERE "t1"."artistsid_N"="artists_N"."id_N" AND ("t1".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "t1"."id_N" LIMIT 1001)),'}') AS j FROM "artists_N" WHERE ("artists_N".rowid*2654435761>>16&1023 OR _tick()) ORDER BY "artists_N"."id_N" LIMIT 21)

-- restricted list
SELECT group_concat(j,',
'),count(*) FROM (SELECT json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'artistId',"albums_N"."artistid_N") AS j FROM "albums_N" WHERE (("albums_N".rowid*2654435761>>16&1023 OR _tick()) AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."id_N" IS NOT NULL AND "t1"."name_N"=?))) ORDER BY "albums_N"."id_N" LIMIT 21)

-- restricted get
SELECT json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'artistId',"albums_N"."artistid_N"),"albums_N"._v FROM "albums_N" WHERE ("albums_N"."id_N"=? AND "albums_N"."artistid_N" IN (SELECT "t1"."id_N" FROM "artists_N" "t1" WHERE (("t1".rowid*2654435761>>16&1023 OR _tick()) AND "t1"."id_N" IS NOT NULL AND "t1"."name_N"=?)))

-- create
INSERT INTO "albums_N" ("title_N") VALUES (?) RETURNING "albums_N"."id_N","albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT ?,'albums.created','albums',v,?,?,? FROM (SELECT value AS v FROM json_each(?)) RETURNING id

-- create with a foreign key
INSERT INTO "albums_N" ("title_N","artistid_N") VALUES (?,?) RETURNING "albums_N"."id_N","albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT ?,'albums.created','albums',v,?,?,? FROM (SELECT value AS v FROM json_each(?)) RETURNING id

-- create two
INSERT INTO "albums_N" ("title_N") VALUES (?) RETURNING "albums_N"."id_N","albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO "albums_N" ("title_N") VALUES (?) RETURNING "albums_N"."id_N","albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT ?,'albums.created','albums',v,?,?,? FROM (SELECT value AS v FROM json_each(?)) RETURNING id

-- update by key
UPDATE "albums_N" SET "title_N"=?,_v=_v+1 WHERE "albums_N"."id_N"=? RETURNING "albums_N"."id_N","albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT ?,'albums.updated','albums',v,?,?,? FROM (SELECT value AS v FROM json_each(?)) RETURNING id

-- update by filter
SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE "albums_N"."title_N"=? LIMIT 10001) c
UPDATE "albums_N" SET "live_N"=?,_v=_v+1 WHERE "albums_N"."title_N"=? RETURNING "albums_N"."id_N","albums_N"._v,1,1,concat('{',trim(json_object('id',"albums_N"."id_N",'title',"albums_N"."title_N",'released',"albums_N"."released_N",'live',iif("albums_N"."live_N" IS NULL,NULL,json(iif("albums_N"."live_N",'true','false')))),'{}'),',','"notes":',ifnull("albums_N"."notes_N",'null'),',',trim(json_object('artistId',"albums_N"."artistid_N",'artistsId',"albums_N"."artistsid_N"),'{}'),'}')
INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT ?,'albums.updated','albums',v,?,?,? FROM (SELECT value AS v FROM json_each(?)) RETURNING id

-- destroy by filter
SELECT count(*) FROM (SELECT 1 FROM "albums_N" WHERE "albums_N"."title_N"=? LIMIT 10001) c
DELETE FROM "albums_N" WHERE "albums_N"."title_N"=? RETURNING "albums_N"."id_N"
