@echo off
rem Puts the deliverables into submission.zip: collect_submission.bat [--allow-missing]
setlocal
set NEW_ENOUGH=-c "import sys; sys.exit(sys.version_info < (3, 11))"
set PYTHON=python
%PYTHON% %NEW_ENOUGH% >nul 2>nul || set PYTHON=py
%PYTHON% %NEW_ENOUGH% >nul 2>nul || set PYTHON="%~dp0.venv\Scripts\python.exe"
%PYTHON% %NEW_ENOUGH% >nul 2>nul || goto none
%PYTHON% "%~dp0src\collect.py" %*
exit /b %errorlevel%
:none
echo collect_submission.bat needs Python 3.11 or newer, and found none named python or py. 1>&2
exit /b 2
