-- n8n's own database, beside the lab's.
CREATE DATABASE n8n;
