-- A tenant's id may have been another one's before: what the audit log has of that one is for the host alone.
ALTER TABLE tenants ADD COLUMN audit_after_id INTEGER NOT NULL DEFAULT 0; -- the tenant's own events have larger ids

UPDATE tenants SET audit_after_id = former.id
  FROM (SELECT json_extract(detail, '$.tenant') AS tenant, max(id) AS id FROM audit
        WHERE action = 'tenant-delete' AND json_valid(detail) GROUP BY 1) AS former
  WHERE former.tenant = tenants.id;
